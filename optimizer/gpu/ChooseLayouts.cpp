#include "optimizer/gpu/ChooseLayouts.h"

#include "lang/layout/WarpCopies.h"
#include "optimizer/gpu/BlockedLayouts.h"
#include "optimizer/gpu/LayoutCost.h"

#include <numeric>
#include <unordered_map>

namespace sectile::optimizer {

namespace {

/// Candidates of each fast axis, and of a component in all.
constexpr unsigned kKeptSeeds = 6, kMaxCandidates = 24;
/// The cost of a layout that an operation cannot take.
constexpr double kImpossible = 1e15;
/// The cost of a load that a product waits for in every round of a loop.
constexpr double kExposedLoad = 400;
/// A gain below this counts as no improvement.
constexpr double kLeastGain = 1e-6;

/// Layouts by number, so that they compare quickly.
class LayoutTable {
public:
  int numberOf(const layout::TileLayout &layout) {
    auto [begin, end] = byHash.equal_range(hash_value(layout));
    for (auto entry = begin; entry != end; ++entry)
      if (layouts[entry->second] == layout)
        return entry->second;
    byHash.emplace(hash_value(layout), layouts.size());
    layouts.push_back(layout);
    return layouts.size() - 1;
  }
  /// The reference is good until the next numberOf.
  const layout::TileLayout &operator[](int number) const { return layouts[number]; }

private:
  std::vector<layout::TileLayout> layouts;
  std::unordered_multimap<size_t, int> byHash;
};

struct Component {
  llvm::SmallVector<int, 8> nodes;
  llvm::SmallVector<int, 16> candidates;
  double weight = 0;
};

class Chooser {
public:
  Chooser(const LayoutGraph &graph, const GpuShape &shape)
      : shape(shape), nodes(graph.nodes()), links(graph.links()), linksOf(nodes.size()),
        chosen(nodes.size(), -1) {
    for (auto [number, link] : llvm::enumerate(links)) {
      linksOf[link.from].push_back(number);
      if (link.to != link.from)
        linksOf[link.to].push_back(number);
    }
  }

  std::vector<layout::TileLayout> choose() {
    makeComponents();
    seedCandidates();
    for (int round = 0; round < 2; ++round)
      exchangeCandidates();
    for (int number : byNeighbourhood())
      moveTogether(components[number].nodes, components[number]);
    descend();
    std::vector<layout::TileLayout> result;
    for (int number : chosen)
      result.push_back(table[number]);
    return result;
  }

private:
  //-- Candidates ----------------------------------------------------------------------------------

  void makeComponents() {
    std::vector<int> leader(nodes.size());
    std::iota(leader.begin(), leader.end(), 0);
    auto find = [&](int node) {
      while (leader[node] != node)
        node = leader[node] = leader[leader[node]];
      return node;
    };
    for (const LayoutLink &link : links)
      if (link.kind == LinkKind::Same)
        leader[find(link.to)] = find(link.from);
    componentOf.resize(nodes.size(), -1);
    for (int node = 0, count = nodes.size(); node < count; ++node) {
      int &component = componentOf[find(node)];
      if (component < 0) {
        component = components.size();
        components.emplace_back();
      }
      componentOf[node] = component;
      components[component].nodes.push_back(node);
      components[component].weight += weightOf(nodes[node]);
    }
  }

  static double weightOf(const LayoutNode &node) {
    double perElement = node.elementwiseOps * 0.1;
    for (const MemoryAccess &access : node.accesses)
      perElement += access.trips * access.bytes;
    for (const Combination &combination : node.combinations)
      perElement += combination.trips;
    return (perElement + node.dotTrips * 1000) * node.elementCount();
  }

  llvm::SmallVector<int, 32> byWeight() const {
    return heaviestFirst(components.size(), [&](int number) { return components[number].weight; });
  }

  template <class Weight>
  static llvm::SmallVector<int, 32> heaviestFirst(int count, Weight weight) {
    llvm::SmallVector<int, 32> order(count);
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order,
               [&](int a, int b) { return std::pair(-weight(a), a) < std::pair(-weight(b), b); });
    return order;
  }

  /// The heaviest first, then always the heaviest of those next to one before: a chain of shapes
  /// between two accesses follows the greater one, and the smaller is weighed against the result.
  llvm::SmallVector<int, 32> byNeighbourhood() const {
    std::vector<llvm::SmallVector<int, 4>> neighbours(components.size());
    for (const LayoutLink &link : links)
      if (int from = componentOf[link.from], to = componentOf[link.to]; from != to) {
        neighbours[from].push_back(to);
        neighbours[to].push_back(from);
      }
    llvm::SmallVector<int, 32> order;
    std::vector<bool> isDone(components.size()), isNear(components.size());
    llvm::SmallVector<int, 32> heaviest = byWeight();
    while (order.size() < components.size()) {
      auto next =
          llvm::find_if(heaviest, [&](int number) { return !isDone[number] && isNear[number]; });
      if (next == heaviest.end())
        next = llvm::find_if(heaviest, [&](int number) { return !isDone[number]; });
      order.push_back(*next);
      isDone[*next] = true;
      for (int neighbour : neighbours[*next])
        isNear[neighbour] = true;
    }
    return order;
  }

  void add(Component &component, const layout::TileLayout &layout) {
    int number = table.numberOf(layout);
    if (component.candidates.size() < kMaxCandidates &&
        !llvm::is_contained(component.candidates, number))
      component.candidates.push_back(number);
  }

  /// The axis that is summed over where a product takes a tile of the component out of shared
  /// memory into which threads store it: what makes up a word of its operand should be in one
  /// thread before, too. -1: none.
  int runAxisOf(const Component &component) const {
    if (shape.asyncCopies != AsyncKind::PerLane)
      for (int node : component.nodes)
        for (int number : linksOf[node])
          if (const LayoutLink &link = links[number]; link.canBeAhead && link.from == node)
            return int(nodes[node].shape.size()) - (link.kind == LinkKind::DotLhs ? 1 : 2);
    return -1;
  }

  void seedCandidates() {
    for (Component &component : components) {
      llvm::SmallVector<const LayoutNode *, 8> members;
      for (int node : component.nodes) {
        members.push_back(&nodes[node]);
        if (!nodes[node].dot)
          continue;
        const layout::MatrixInstructions &instructions = nodes[node].instructions;
        LayoutList accumulators = instructions.empty()
                                      ? multiplyAddAccumulators(nodes[node].dot, shape)
                                      : matrixAccumulators(nodes[node].dot, instructions, shape);
        for (const layout::TileLayout &layout : accumulators) {
          add(component, layout);
          if (!instructions.empty())
            fragments.insert({table.numberOf(layout), node});
        }
      }
      const int runAxis = runAxisOf(component);
      for (const layout::TileLayout &layout :
           blockedCandidates(members, shape, kKeptSeeds, runAxis)) {
        add(component, layout);
        if (shape.asyncCopies == AsyncKind::WholeWarps && runAxis >= 0)
          seedForWarpCopies(component, layout, runAxis);
      }
    }
  }

  /// Layouts whose pieces are exchanged already, for tiles that whole warps copy to where a product
  /// reads them. Which exchange is free of conflicts depends on the product's instruction. Tiles
  /// whose rows lie across the depth, the axis `runAxis`, are read transposed.
  void seedForWarpCopies(Component &component, const layout::TileLayout &layout, int runAxis) {
    for (int node : component.nodes)
      for (const MemoryAccess &access : nodes[node].accesses) {
        const int64_t width = shape.maxAccessBytes / access.bytes;
        if (access.isWrite)
          continue;
        const auto bits = unsigned(8 * access.bytes);
        const auto exchanged = [&](int axis, unsigned skipped, layout::PieceOrder order) {
          return layout::exchangePieces(layout, axis, width, bits, shape.sharedBanks, skipped,
                                        order);
        };
        if (layout.contiguousRegisters(runAxis) >= width) {
          add(component, exchanged(runAxis, 0, layout::PieceOrder::LowestFirst));
          add(component, exchanged(runAxis, 1, layout::PieceOrder::HighestFirst));
          return;
        }
        const int rank = layout.rank(), across = runAxis == rank - 1 ? rank - 2 : rank - 1;
        if (shape.sharedBanks.transposes && access.bytes <= 2 &&
            layout.contiguousRegisters(across) >= width) {
          add(component, exchanged(across, 0, layout::PieceOrder::Sixteens));
          return;
        }
      }
  }

  /// What a candidate of one component makes of its neighbours.
  void exchangeCandidates() {
    auto weight = [&](int link) {
      return std::max(components[componentOf[links[link].from]].weight,
                      components[componentOf[links[link].to]].weight);
    };
    for (int number : heaviestFirst(links.size(), weight)) {
      const LayoutLink &link = links[number];
      if (link.kind == LinkKind::Same)
        continue;
      Component &maker = components[componentOf[link.from]],
                &user = components[componentOf[link.to]];
      auto makers = maker.candidates, users = user.candidates;
      for (int candidate : makers)
        if (auto layout = push(link, table[candidate], nodes[link.to].shape))
          add(user, *layout);
      for (int candidate : users)
        if (canHave(link.to, candidate))
          if (auto layout = pull(link, table[candidate], nodes[link.from].shape))
            add(maker, *layout);
    }
  }

  bool canHave(int node, int layout) const {
    return nodes[node].instructions.empty() || fragments.contains({layout, node});
  }

  //-- Costs ---------------------------------------------------------------------------------------

  double ownCost(int node, int layout) {
    if (!canHave(node, layout))
      return kImpossible;
    auto [entry, isNew] = ownCosts.try_emplace({node, layout}, 0);
    if (isNew)
      entry->second = nodeCost(nodes[node], table[layout]);
    return entry->second;
  }

  double conversion(int from, int to, unsigned bits) {
    if (from == to)
      return 0;
    auto [entry, isNew] = conversions.try_emplace({from, to, bits}, 0);
    if (isNew)
      entry->second = conversionCost(table[from], table[to], bits);
    return entry->second;
  }

  double linkCost(int number, int from, int to) {
    const LayoutLink &link = links[number];
    if (link.kind == LinkKind::Same)
      return link.trips * conversion(from, to, link.bits);
    if (!canHave(link.to, to))
      return 0;
    auto [entry, isNew] = linkCosts.try_emplace({number, from, to}, 0);
    if (!isNew)
      return entry->second;
    double cost = 0;
    auto pulled = pull(link, table[to], nodes[link.from].shape);
    if (pulled) {
      cost = conversion(from, table.numberOf(*pulled), link.bits);
      if (link.canBeAhead) {
        cost = cost == 0 ? kExposedLoad : sharedReadCost(*pulled, link.bits);
        if (shape.asyncCopies == AsyncKind::WholeWarps &&
            layout::filledByWarpsFor(table[from], *pulled, link.bits, shape.maxAccessBytes,
                                     shape.sharedBanks))
          return linkCosts[{number, from, to}] = link.trips * cost;
        if (shape.asyncCopies != AsyncKind::PerLane)
          cost += repackCost(table[from], *pulled, link.bits);
        // A thread stores it there itself.
        if (shape.asyncCopies == AsyncKind::WholeWarps)
          cost += sharedReadCost(table[from], link.bits);
      }
    } else if (!link.instructions.empty()) { // a product reads it out of a buffer
      cost = link.canBeAhead ? 0 : storedForProductCost(table[from], link.bits);
    } else if (link.kind == LinkKind::Slice || link.kind == LinkKind::Join) {
      auto pushed = push(link, table[from], nodes[link.to].shape);
      cost = conversion(table.numberOf(*pushed), to, link.bits);
    } else if (link.kind == LinkKind::Reshape) {
      cost = roundTripCost(table[to], link.bits);
    }
    return linkCosts[{number, from, to}] = link.trips * cost;
  }

  /// The cost of `node` with that layout, and of its links to nodes that have one already.
  double costOf(int node, int layout) {
    double cost = ownCost(node, layout);
    for (int number : linksOf[node]) {
      int from = links[number].from == node ? layout : chosen[links[number].from];
      int to = links[number].to == node ? layout : chosen[links[number].to];
      if (from >= 0 && to >= 0)
        cost += linkCost(number, from, to);
    }
    return cost;
  }

  /// The cost of several nodes that all have that layout. Each link among them is counted once, and
  /// costs nothing when it wants equal layouts.
  double costTogether(llvm::ArrayRef<int> members, int layout) {
    llvm::SmallVector<int, 8> held;
    for (int node : members) {
      held.push_back(chosen[node]);
      chosen[node] = -1;
    }
    double cost = 0;
    for (int node : members) {
      cost += costOf(node, layout);
      chosen[node] = layout;
    }
    for (auto [node, number] : llvm::zip(members, held))
      chosen[node] = number;
    return cost;
  }

  //-- Search --------------------------------------------------------------------------------------

  /// Gives all members the best layout for them; true when that lowers the cost.
  bool moveTogether(llvm::ArrayRef<int> members, const Component &component) {
    int current = chosen[members.front()], best = current;
    double least = current < 0 ? INFINITY : costTogether(members, current) - kLeastGain;
    for (int candidate : component.candidates) {
      if (candidate == current)
        continue;
      double cost = costTogether(members, candidate);
      if (cost < least) {
        least = cost;
        best = candidate;
      }
    }
    if (best == current)
      return false;
    for (int node : members)
      chosen[node] = best;
    return true;
  }

  void descend() {
    constexpr int kMaxRounds = 8;
    bool isLower = true;
    for (int round = 0; round < kMaxRounds && isLower; ++round) {
      isLower = false;
      for (int number : byWeight()) {
        const Component &component = components[number];
        llvm::SmallVector<int, 8> done;
        for (int node : component.nodes) {
          int layout = chosen[node];
          if (llvm::is_contained(done, layout))
            continue;
          done.push_back(layout);
          llvm::SmallVector<int, 8> members;
          for (int other : component.nodes)
            if (chosen[other] == layout)
              members.push_back(other);
          isLower |= moveTogether(members, component);
        }
        if (component.nodes.size() > 1)
          for (int node : component.nodes)
            isLower |= moveTogether(node, component);
      }
    }
  }

  const GpuShape &shape;
  llvm::ArrayRef<LayoutNode> nodes;
  llvm::ArrayRef<LayoutLink> links;
  std::vector<llvm::SmallVector<int, 4>> linksOf;
  std::vector<int> chosen; // by node: number of the layout; -1: not yet
  std::vector<int> componentOf;
  std::vector<Component> components;
  LayoutTable table;
  /// Accumulators of matrix instructions, and the product that can have them.
  llvm::DenseSet<std::pair<int, int>> fragments;
  llvm::DenseMap<std::pair<int, int>, double> ownCosts;
  llvm::DenseMap<std::tuple<int, int, unsigned>, double> conversions;
  llvm::DenseMap<std::tuple<int, int, int>, double> linkCosts;
};

} // namespace

std::vector<layout::TileLayout> chooseLayouts(const LayoutGraph &graph, const GpuShape &shape) {
  return Chooser(graph, shape).choose();
}

} // namespace sectile::optimizer
