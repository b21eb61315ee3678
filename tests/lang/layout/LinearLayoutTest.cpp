// Laws of the algebra, on random layouts.
#include "RandomLayouts.h"

#include <gtest/gtest.h>

using namespace sectile::layout;

namespace {

constexpr int kTrials = 300;

class LinearLayoutLaws : public testing::Test {
protected:
  RandomLayouts random{20240817};
};

TEST_F(LinearLayoutLaws, apply_adds_bases_without_carry) {
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout layout = random.hardwareLayout();
    Word left = random.word(layout.totalInBits()), right = random.word(layout.totalInBits());
    EXPECT_EQ(layout.apply(left ^ right), layout.apply(left) ^ layout.apply(right));
    for (const DimBits &in : layout.inDims())
      for (unsigned bit = 0; bit < in.bits; ++bit)
        EXPECT_EQ(layout.apply({{in.dim, int64_t(1) << bit}}), layout.basis(in.dim, bit));
  }
}

TEST_F(LinearLayoutLaws, packing_is_row_major) {
  LinearLayout layout = LinearLayout::fromBases({4, 8, 2}, {});
  EXPECT_EQ(layout.packAxes({3, 5, 1}), Word((3 * 8 + 5) * 2 + 1));
  EXPECT_EQ(layout.unpackAxes((3 * 8 + 5) * 2 + 1), (Coordinates{3, 5, 1}));
}

TEST_F(LinearLayoutLaws, compose_is_associative_and_applies_in_turn) {
  for (int trial = 0; trial < kTrials; ++trial) {
    DimList a = random.dims({Dim::Register, Dim::Lane}, 4), b = random.axes(3, 3),
            c = random.dims({Dim::Offset, Dim::Block}, 4), d = random.axes(2, 4);
    LinearLayout f = random.layout(a, b), g = random.layout(b, c), h = random.layout(c, d);
    EXPECT_EQ(f.compose(g).compose(h), f.compose(g.compose(h)));
    Word input = random.word(f.totalInBits());
    EXPECT_EQ(f.compose(g).apply(input), g.apply(f.apply(input)));
  }
}

TEST_F(LinearLayoutLaws, inverse_undoes) {
  for (int trial = 0; trial < kTrials; ++trial) {
    DimList outs = random.axes(3, 3);
    unsigned bits = RandomLayouts::bitsOf(outs), lanes = random.below(bits + 1);
    LinearLayout f = random.bijection({{Dim::Register, bits - lanes}, {Dim::Lane, lanes}}, outs);
    auto inverse = f.invert();
    ASSERT_TRUE(inverse);
    EXPECT_EQ(*inverse->invert(), f);
    for (int probe = 0; probe < 8; ++probe) {
      Word input = random.word(bits);
      EXPECT_EQ(inverse->apply(f.apply(input)), input);
      EXPECT_EQ(f.apply(inverse->apply(input)), input);
    }
  }
}

TEST_F(LinearLayoutLaws, inverse_exists_exactly_for_bijections) {
  int without = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout f = random.hardwareLayout();
    EXPECT_EQ(bool(f.invert()), f.isInvertible());
    EXPECT_EQ(bool(f.pseudoInvert()), f.isSurjective());
    without += !f.isSurjective();
  }
  EXPECT_GT(without, 10);
  EXPECT_LT(without, kTrials - 10);
}

TEST_F(LinearLayoutLaws, pseudo_inverse_is_the_smallest_solution) {
  int surjections = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout f = random.hardwareLayout();
    auto inverse = f.pseudoInvert();
    if (!inverse || f.totalInBits() > 10)
      continue;
    ++surjections;
    for (Word output = 0; output < Word(1) << f.totalOutBits(); ++output) {
      Word smallest = 0;
      while (f.apply(smallest) != output)
        ++smallest;
      EXPECT_EQ(inverse->apply(output), smallest);
    }
  }
  EXPECT_GT(surjections, 20);
}

TEST_F(LinearLayoutLaws, invert_and_compose_finds_the_same_element) {
  int found = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    DimList outs = random.axes(2, 2);
    LinearLayout f = random.layout(random.dims({Dim::Register, Dim::Lane}, 3), outs);
    LinearLayout g = random.layout(random.dims({Dim::Register, Dim::Lane, Dim::Warp}, 3), outs);
    auto map = f.invertAndCompose(g);
    if (!map)
      continue;
    ++found;
    EXPECT_EQ(map->compose(g), f);
  }
  EXPECT_GT(found, 50);
}

TEST_F(LinearLayoutLaws, product_is_associative_with_neutral_element) {
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout a = random.hardwareLayout(), b = random.hardwareLayout(),
                 c = random.hardwareLayout();
    EXPECT_EQ((a * b) * c, a * (b * c));
    EXPECT_EQ(a * LinearLayout(), a);
    EXPECT_EQ(LinearLayout() * a, a);
  }
}

TEST_F(LinearLayoutLaws, product_puts_the_right_factor_on_top) {
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout a = random.hardwareLayout(), b = random.hardwareLayout(), p = a * b;
    int64_t ra = random.below(a.inSize(Dim::Register)), rb = random.below(b.inSize(Dim::Register)),
            la = random.below(a.inSize(Dim::Lane)), lb = random.below(b.inSize(Dim::Lane));
    Coordinates whole = p.apply({{Dim::Register, ra + rb * a.inSize(Dim::Register)},
                                 {Dim::Lane, la + lb * a.inSize(Dim::Lane)}});
    Coordinates low = a.apply({{Dim::Register, ra}, {Dim::Lane, la}});
    Coordinates high = b.apply({{Dim::Register, rb}, {Dim::Lane, lb}});
    for (int index = 0; index < 2; ++index)
      EXPECT_EQ(whole[index], low[index] + high[index] * a.getOutDimSize(index));
  }
}

TEST_F(LinearLayoutLaws, division_undoes_the_product) {
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout a = random.hardwareLayout(), b = random.hardwareLayout();
    auto right = (a * b).divideLeft(a), left = (a * b).divideRight(b);
    ASSERT_TRUE(right && left);
    EXPECT_EQ(*right, b);
    EXPECT_EQ(*left, a);
    // Whatever divides, multiplies back.
    if (auto quotient = a.divideLeft(b))
      EXPECT_EQ(b * *quotient, a);
    if (auto quotient = a.divideRight(b))
      EXPECT_EQ(*quotient * b, a);
  }
  auto identity = LinearLayout::identity1D(8, Dim::Register, axis(0));
  EXPECT_FALSE(LinearLayout::zeros1D(8, Dim::Register, axis(0), 8).divideLeft(identity));
  EXPECT_FALSE(identity.divideLeft(LinearLayout::identity1D(2, Dim::Lane, axis(0))));
}

TEST_F(LinearLayoutLaws, transposing_moves_axes) {
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout f = random.hardwareLayout(3);
    auto order = random.order(3);
    LinearLayout t = f.transposeOuts(order);
    llvm::SmallVector<int, 4> back(3);
    for (int index = 0; index < 3; ++index)
      back[order[index]] = index;
    EXPECT_EQ(t.transposeOuts(back), f);
    Word input = random.word(f.totalInBits());
    Coordinates before = f.unpackAxes(f.apply(input)), after = t.unpackAxes(t.apply(input));
    for (int index = 0; index < 3; ++index)
      EXPECT_EQ(after[index], before[order[index]]);
  }
}

TEST_F(LinearLayoutLaws, reshaping_keeps_the_row_major_number) {
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout f = random.hardwareLayout(3);
    auto extents = f.outExtents();
    LinearLayout flat = f.reshapeOuts({extents[0] * extents[1] * extents[2]});
    EXPECT_EQ(flat.reshapeOuts(extents), f);
    Word input = random.word(f.totalInBits());
    Coordinates element = f.unpackAxes(f.apply(input));
    EXPECT_EQ(flat.unpackAxes(flat.apply(input))[0],
              (element[0] * extents[1] + element[1]) * extents[2] + element[2]);
  }
}

TEST_F(LinearLayoutLaws, sublayouts_are_restrictions_and_projections) {
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout f = random.hardwareLayout(3);
    LinearLayout s = f.sublayout({Dim::Lane}, {axis(0), axis(2)});
    int64_t lane = random.below(f.inSize(Dim::Lane));
    Coordinates all = f.apply({{Dim::Lane, lane}});
    Word packed = s.apply(s.packIn({{Dim::Lane, lane}}));
    EXPECT_EQ(s.unpackOut(packed, axis(0)), all[0]);
    EXPECT_EQ(s.unpackOut(packed, axis(2)), all[2]);
    // Parts put together again.
    LinearLayout parts = f.sublayoutOfIns({Dim::Register})
                             .concatIns(f.sublayoutOfIns({Dim::Lane}))
                             .concatIns(f.sublayoutOfIns({Dim::Warp}));
    EXPECT_EQ(parts, f);
    llvm::SmallVector<Dim, 4> ins = {Dim::Register, Dim::Lane, Dim::Warp};
    EXPECT_EQ(f.sublayout(ins, {axis(2)}).concatOuts(f.sublayout(ins, {axis(0), axis(1)})), f);
  }
}

TEST_F(LinearLayoutLaws, free_variables_mark_all_copies_but_one) {
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout f = random.hardwareLayout();
    if (f.totalInBits() > 9)
      continue;
    Word registers = f.freeVariableMask(Dim::Register), lanes = f.freeVariableMask(Dim::Lane),
         warps = f.freeVariableMask(Dim::Warp);
    std::map<Word, int> holders;
    for (Word input = 0; input < Word(1) << f.totalInBits(); ++input) {
      int &count = holders[f.apply(input)];
      if (!(f.unpackIn(input, Dim::Register) & registers) &&
          !(f.unpackIn(input, Dim::Lane) & lanes) && !(f.unpackIn(input, Dim::Warp) & warps))
        ++count;
    }
    for (auto [element, count] : holders)
      EXPECT_EQ(count, 1);
  }
}

TEST_F(LinearLayoutLaws, renaming_twice_is_nothing) {
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout f = random.hardwareLayout();
    EXPECT_EQ(f.renameIn(Dim::Register, Dim::Offset).renameIn(Dim::Offset, Dim::Register), f);
    if (f.outBits(axis(1)) == 0)
      continue; // an axis of extent 1 stays, a hardware dimension of size 1 does not
    LinearLayout g = f.renameOut(axis(1), Dim::Offset);
    EXPECT_EQ(g.renameOut(Dim::Offset, axis(1)), f);
    Word input = random.word(f.totalInBits());
    EXPECT_EQ(g.unpackOut(g.apply(input), Dim::Offset), f.unpackOut(f.apply(input), axis(1)));
  }
}

TEST_F(LinearLayoutLaws, equal_layouts_have_equal_hashes) {
  for (int trial = 0; trial < kTrials; ++trial) {
    LinearLayout f = random.hardwareLayout(), g = f.reshapeOuts(f.outExtents());
    EXPECT_EQ(f, g);
    EXPECT_EQ(hash_value(f), hash_value(g));
  }
  EXPECT_NE(LinearLayout::identity1D(4, Dim::Lane, axis(0)),
            LinearLayout::identity1D(4, Dim::Warp, axis(0)));
}

TEST_F(LinearLayoutLaws, consecutive_registers_are_counted) {
  LinearLayout f = LinearLayout::fromBases(
      {4, 16}, {{Dim::Register, {{0, 1}, {0, 2}, {1, 0}}}, {Dim::Lane, {{0, 4}, {0, 8}, {2, 0}}}});
  EXPECT_EQ(f.numConsecutive(Dim::Register, axis(1)), 4);
  EXPECT_EQ(f.numConsecutive(Dim::Register, axis(0)), 1);
  EXPECT_EQ(f.rankF2(), 6u);
}

TEST(BitSpanTest, intersections_lie_in_both) {
  RandomLayouts random(5);
  for (int trial = 0; trial < kTrials; ++trial) {
    Words left, right;
    for (int i = 0, n = random.below(6); i < n; ++i)
      left.push_back(random.word(8));
    for (int i = 0, n = random.below(6); i < n; ++i)
      right.push_back(random.word(8));
    BitSpan leftSpan(left), rightSpan(right);
    Words common = intersect(left, right);
    for (Word vector : common)
      EXPECT_TRUE(leftSpan.contains(vector) && rightSpan.contains(vector));
    Words all(left);
    all.append(right.begin(), right.end());
    EXPECT_EQ(common.size() + BitSpan(all).size(), leftSpan.size() + rightSpan.size());
    EXPECT_EQ(BitSpan(common).size(), common.size());
  }
}

} // namespace
