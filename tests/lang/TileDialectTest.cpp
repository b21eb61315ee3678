// The dialect as text: what it refuses, and in which words.
#include "lang/tile/TileDialect.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace {

/// The first diagnostic of parsing and verifying `text`, or "" when it is fine.
std::string firstDiagnostic(llvm::StringRef text) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<sectile::tile::TileDialect>();
  std::string first;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (first.empty())
      first = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_EQ(bool(module), first.empty()) << first;
  return first;
}

struct Refusal {
  const char *text, *diagnostic;
};

/// Values to work on: a vector %v, matrices %m and %n, floats %f and %g, pointers %p and %q.
constexpr const char *kPrelude = R"(
%v = tile.arange 0, 8 : tensor<8xi32>
%m = tile.reshape %v : tensor<8xi32> -> tensor<2x4xi32>
%n = tile.reshape %v : tensor<8xi32> -> tensor<4x2xi32>
%f = arith.constant dense<0.0> : tensor<2x4xf32>
%g = arith.constant dense<0.0> : tensor<4x2xf32>
%b = arith.constant dense<0.0> : tensor<3x2x4xf32>
%c = arith.constant dense<0.0> : tensor<2x4x2xf32>
%z = arith.constant 0 : i64
%p = tile.int_to_ptr %z : i64 -> !tile.ptr<f32>
%q = tile.int_to_ptr %z : i64 -> !tile.ptr<i32>
%x = arith.constant 0.0 : f32
%i = arith.constant 0 : i32
)";

class TileVerifier : public testing::TestWithParam<Refusal> {};

TEST_P(TileVerifier, refuses) {
  EXPECT_EQ(firstDiagnostic(std::string(kPrelude) + GetParam().text), GetParam().diagnostic);
}

#define SHARED_16X8                                                                                \
  "#tile.shared_layout<16x8, offset = [(0, 1) (0, 2) (0, 4) (1, 0) (2, 0) (4, 0) (8, 0)]>"
#define BUFFER_16X8 "!tile.buffer<2, [16, 8], f16, " SHARED_16X8 ">"
/// Of 16x8 pointers, %ps; a thread holds two neighbours of a row.
#define POINTERS_16X8                                                                              \
  "tensor<16x8x!tile.ptr<f16>, #tile.layout<16x8, register = [(0, 1)], "                           \
  "lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(8, 0)]>>"
#define LAID_OUT                                                                                   \
  "%h = tile.ptr_cast %p : !tile.ptr<f32> -> !tile.ptr<f16>\n"                                     \
  "%ps = tile.splat %h : !tile.ptr<f16> -> " POINTERS_16X8 "\n"                                    \
  "%xs = tile.load %ps : " POINTERS_16X8 "\n"
#define COPY_TO_BUFFER(more, attributes)                                                           \
  "%h = tile.ptr_cast %p : !tile.ptr<f32> -> !tile.ptr<f16>\n"                                     \
  "%ps = tile.splat %h : !tile.ptr<f16> -> " POINTERS_16X8 "\n"                                    \
  "%u = tile.buffer_alloc : " BUFFER_16X8 "\n" more "tile.async_copy %ps, %u[%i]" attributes       \
  " : " POINTERS_16X8 ", " BUFFER_16X8

/// Buffers of one stage, as products read them and as types are printed: of 16x8, and of the same
/// with its axes exchanged. What is repeated three times is no block.
#define OFFSETS_16X8 "offset = [(0, 1) (0, 2) (0, 4) (1, 0) (2, 0) (4, 0) (8, 0)]>>"
#define OFFSETS_8X16 "offset = [(1, 0) (2, 0) (4, 0) (0, 1) (0, 2) (0, 4) (0, 8)]>>"
#define ONE_16X8 "!tile.buffer<1, [16, 8], f16, <16x8, " OFFSETS_16X8
#define ONE_8X16 "!tile.buffer<1, [8, 16], f16, <8x16, " OFFSETS_8X16
#define REPEATED_48X8 "!tile.buffer<1, [48, 8], f16, <48x8, " OFFSETS_16X8
/// Buffers %u of two stages, %one of one, %turned of one with the axes exchanged; a tile %h of 16x8
/// and sums %s of 16x16.
#define BUFFERS                                                                                    \
  "%u = tile.buffer_alloc : " BUFFER_16X8 "\n%one = tile.buffer_alloc : " ONE_16X8                 \
  "\n%turned = tile.buffer_alloc : " ONE_8X16                                                      \
  "\n%h = arith.constant dense<1.0> : tensor<16x8xf16>\n"                                          \
  "%s = arith.constant dense<0.0> : tensor<16x16xf32>\n"
#define BY_WGMMA " instruction = \"wgmma.m64n16k16.f32.f16.f16\" : "

const Refusal kRefusals[] = {
    // creation
    {"%a = tile.arange 0, 8 : tensor<4xi32>",
     "'tile.arange' op range [0, 8) does not have 4 elements"},
    {"%a = tile.splat %x : f32 -> tensor<4xi32>",
     "'tile.splat' op scalar is 'f32', tile holds 'i32'"},
    {"%a = \"tile.program_id\"() {axis = 3 : i32} : () -> i32",
     "'tile.program_id' op attribute 'axis' failed to satisfy constraint: 32-bit signless integer "
     "attribute whose minimum value is 0 whose maximum value is 2"},
    // shape
    {"%a = tile.broadcast %v : tensor<8xi32> -> tensor<1x8xi32>",
     "'tile.broadcast' op rank changes from 1 to 2"},
    {"%a = tile.broadcast %v : tensor<8xi32> -> tensor<16xi32>",
     "'tile.broadcast' op extent 8 of dimension 0 cannot become 16"},
    {"%a = tile.expand_dims %v {axis = 2 : i32} : tensor<8xi32> -> tensor<8x1xi32>",
     "'tile.expand_dims' op axis 2 is out of range for rank 2"},
    {"%a = tile.expand_dims %v {axis = 0 : i32} : tensor<8xi32> -> tensor<8x1xi32>",
     "'tile.expand_dims' op result should be tensor<1x8xi32>"},
    {"%a = tile.reshape %v : tensor<8xi32> -> tensor<2x3xi32>",
     "'tile.reshape' op changes the number of elements from 8 to 6"},
    {"%a = tile.transpose %m [0, 0] : tensor<2x4xi32> -> tensor<2x2xi32>",
     "'tile.transpose' op order is not a permutation of the dimensions"},
    {"%a = tile.transpose %m [1, 0] : tensor<2x4xi32> -> tensor<2x4xi32>",
     "'tile.transpose' op result extent 0 should be 4"},
    {"%a = tile.flip %v {axis = 1 : i32} : tensor<8xi32>",
     "'tile.flip' op axis 1 is out of range for rank 1"},
    {"%a = tile.join %v, %v : tensor<8xi32> -> tensor<2x8xi32>",
     "'tile.join' op pairs of tensor<8xi32> are tensor<8x2xi32>, not tensor<2x8xi32>"},
    {"%a, %d = tile.split %m : tensor<2x4xi32> -> tensor<2xi32>",
     "'tile.split' op pairs of tensor<2xi32> are tensor<2x2xi32>, not tensor<2x4xi32>"},
    {"%a = tile.cat %v, %m {axis = 0 : i32} : tensor<8xi32>, tensor<2x4xi32> -> tensor<10xi32>",
     "'tile.cat' op operands differ in rank"},
    {"%a = tile.cat %m, %n {axis = 2 : i32} : tensor<2x4xi32>, tensor<4x2xi32> -> tensor<6x4xi32>",
     "'tile.cat' op axis 2 is out of range for rank 2"},
    {"%a = tile.cat %m, %n {axis = 0 : i32} : tensor<2x4xi32>, tensor<4x2xi32> -> tensor<6x4xi32>",
     "'tile.cat' op operands differ in dimension 1"},
    {"%a = tile.cat %m, %m {axis = 0 : i32} : tensor<2x4xi32>, tensor<2x4xi32> -> tensor<2x8xi32>",
     "'tile.cat' op result should be tensor<4x4xi32>"},
    {"%a = tile.sort %v axis 1 : tensor<8xi32>",
     "'tile.sort' op axis 1 is out of range for rank 1"},
    {"%a = tile.sort %f axis 0 : tensor<2x4xf32>",
     "'tile.sort' op operand #0 must be ranked tensor of 8-bit signless integer or 16-bit signless "
     "integer or 32-bit signless integer or 64-bit signless integer values, but got "
     "'tensor<2x4xf32>'"},
    {"%mask = arith.cmpi eq, %m, %m : tensor<2x4xi32>\n"
     "%a = tile.histogram %v, %mask : tensor<8xi32>, tensor<2x4xi1> -> tensor<4xi32>",
     "'tile.histogram' op source and mask differ in shape"},
    {"%a = tile.map(%v) : (tensor<8xi32>) -> tensor<4xi32> {\n^bb0(%e: i32):\ntile.yield %e : "
     "i32\n}",
     "'tile.map' op sources and results should have one shape"},
    {"%a = tile.map(%v) : (tensor<8xi32>) -> tensor<8xi32> {\n^bb0(%e: f32):\n"
     "%y = arith.fptosi %e : f32 to i32\ntile.yield %y : i32\n}",
     "'tile.map' op the function should take one element per source"},
    {"%a = tile.map(%v) : (tensor<8xi32>) -> tensor<8xf32> {\n^bb0(%e: i32):\ntile.yield %e : "
     "i32\n}",
     "'tile.map' op the function should yield one element per result"},
    {"%a = tile.inline_asm \"\" \"\" pack 3 (%v) : (tensor<8xi32>) -> tensor<8xi32>",
     "'tile.inline_asm' op `pack` should be a power of two"},
    {"%a = tile.inline_asm \"\" \"\" pack 1 (%v) : (tensor<8xi32>) -> tensor<4xi32>",
     "'tile.inline_asm' op sources and results should have one shape"},
    {"tile.inline_asm \"\" \"\" pack 1 (%v) : (tensor<8xi32>) -> ()",
     "'tile.inline_asm' op gives at least one result"},
    {"%a = tile.gather %v[%m] {axis = 0 : i32} : tensor<8xi32>, tensor<2x4xi32> -> tensor<2x4xi32>",
     "'tile.gather' op source and index differ in rank"},
    {"%a = tile.gather %v[%v] {axis = 1 : i32} : tensor<8xi32>, tensor<8xi32> -> tensor<8xi32>",
     "'tile.gather' op axis 1 is out of range for rank 1"},
    {"%a = tile.gather %f[%n] {axis = 0 : i32} : tensor<2x4xf32>, tensor<4x2xi32> -> "
     "tensor<4x2xf32>",
     "'tile.gather' op source and index differ in dimension 1"},
    {"%a = tile.gather %f[%m] {axis = 0 : i32} : tensor<2x4xf32>, tensor<2x4xi32> -> "
     "tensor<2x4xi32>",
     "'tile.gather' op result has the shape of the index and the element type of the source"},
    // memory
    {"%o = tile.int_to_ptr %z : i64 -> !tile.ptr<i1>\n%t = arith.constant true\n"
     "%a = \"tile.load\"(%o, %t) <{operandSegmentSizes = array<i32: 1, 0, 1, 0>}> : "
     "(!tile.ptr<i1>, "
     "i1) "
     "-> i1",
     "'tile.load' op `other` without a mask"},
    {"%a = \"tile.load\"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!tile.ptr<f32>) "
     "-> "
     "i32",
     "'tile.load' op failed to verify that result is what ptr points to"},
    {"\"tile.store\"(%p, %i) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!tile.ptr<f32>, "
     "i32) -> ()",
     "'tile.store' op failed to verify that value is what ptr points to"},
    {"%a = tile.atomic_rmw fadd, acq_rel, gpu, %q, %i : !tile.ptr<i32>",
     "'tile.atomic_rmw' op floating-point kind on integers"},
    {"%a = tile.atomic_rmw add, acq_rel, gpu, %p, %x : !tile.ptr<f32>",
     "'tile.atomic_rmw' op integer kind on floating-point numbers"},
    // reductions
    {"\"tile.reduce\"() <{axis = 0 : i32}> ({ ^bb0: \"tile.yield\"() : () -> () }) : () -> ()",
     "'tile.reduce' op expected 1 or more operands, but found 0"},
    {"%a = tile.reduce(%v) axis 0 : (tensor<8xi32>) -> i32 { ^bb0(%l: i32): tile.yield %l : i32 }",
     "'tile.reduce' op combiner should take a left and a right element per source"},
    {"%a = tile.reduce(%v) axis 0 : (tensor<8xi32>) -> i32 { ^bb0(%l: i32, %r: i32): "
     "tile.yield %l, %r : i32, i32 }",
     "'tile.reduce' op combiner should yield one element per source"},
    {"%a = tile.reduce(%v) axis 1 : (tensor<8xi32>) -> i32 { ^bb0(%l: i32, %r: i32): "
     "tile.yield %l : i32 }",
     "'tile.reduce' op axis 1 is out of range for rank 1"},
    {"%a:2 = tile.reduce(%v) axis 0 : (tensor<8xi32>) -> (i32, i32) { ^bb0(%l: i32, %r: i32): "
     "tile.yield %l : i32 }",
     "'tile.reduce' op yields one result per source"},
    {"%a = tile.reduce(%m) axis 0 : (tensor<2x4xi32>) -> tensor<2xi32> { ^bb0(%l: i32, %r: i32): "
     "tile.yield %l : i32 }",
     "'tile.reduce' op result should be tensor<4xi32>"},
    {"%a = tile.scan(%v) axis 0 reverse false : (tensor<8xi32>) -> tensor<4xi32> { "
     "^bb0(%l: i32, %r: i32): tile.yield %l : i32 }",
     "'tile.scan' op results have the types of the sources"},
    {"%a = tile.scan(%v) axis 1 reverse false : (tensor<8xi32>) -> tensor<8xi32> { "
     "^bb0(%l: i32, %r: i32): tile.yield %l : i32 }",
     "'tile.scan' op axis 1 is out of range for rank 1"},
    // dot
    {"%a = tile.dot %f, %b, %f : tensor<2x4xf32> * tensor<3x2x4xf32> -> tensor<2x4xf32>",
     "'tile.dot' op operands should all be of rank 2, or all of rank 3"},
    {"%a = tile.dot %b, %c, %b : tensor<3x2x4xf32> * tensor<2x4x2xf32> -> tensor<3x2x4xf32>",
     "'tile.dot' op batch extents differ"},
    {"%a = tile.dot %f, %f, %f : tensor<2x4xf32> * tensor<2x4xf32> -> tensor<2x4xf32>",
     "'tile.dot' op inner extents differ: 4 and 2"},
    {"%a = tile.dot %f, %g, %f : tensor<2x4xf32> * tensor<4x2xf32> -> tensor<2x4xf32>",
     "'tile.dot' op accumulator does not have the extents of the product"},
    // widths of accesses
    {"%a = tile.load %p access = <axis = 0, width = 1> : !tile.ptr<f32>",
     "'tile.load' op axis 0 is out of range for rank 0"},
    {LAID_OUT "%a = tile.load %ps access = <axis = 1, width = 4> : " POINTERS_16X8,
     "'tile.load' op width is 4, and a thread holds 2 neighbours along axis 1"},
    {LAID_OUT "tile.store %ps, %xs access = <axis = 2, width = 1> : " POINTERS_16X8,
     "'tile.store' op axis 2 is out of range for rank 2"},
    {LAID_OUT "tile.store %ps, %xs access = <axis = 1, width = 0> : " POINTERS_16X8,
     "'tile.store' op width 0 is no power of two"},
    {LAID_OUT "%a = tile.atomic_rmw fadd, relaxed, gpu, %ps, %xs access = <axis = 1, width = 16> "
              ": " POINTERS_16X8,
     "'tile.atomic_rmw' op width 16 does not divide extent 8 of axis 1"},
    // blocks of arrays
    {"%a = tile.block_load %p[%z] of [%z, %z] by [%z] checked = [true] : !tile.ptr<f32> -> "
     "tensor<8xf32>",
     "'tile.block_load' op an array of 1 dimensions needs as many extents, strides and checks"},
    {"%a = tile.block_load %p[%z, %z] of [%z] by [%z] checked = [true] : !tile.ptr<f32> -> "
     "tensor<8xf32>",
     "'tile.block_load' op an array of 2 dimensions needs as many extents, strides and checks"},
    {"%a = tile.block_load %p[%z] of [%z] by [%z] checked = [true] : !tile.ptr<f32> -> "
     "tensor<8xf16>",
     "'tile.block_load' op elements are 'f16', but base points to 'f32'"},
    {"%a = tile.block_load %q[%z] of [%z] by [%z] checked = [true] padding = nan : "
     "!tile.ptr<i32> -> tensor<8xi32>",
     "'tile.block_load' op integers have no NaN"},
    {"tile.block_store %f, %p[%z, %z] of [%z, %z] by [%z] checked = [true, true] : "
     "tensor<2x4xf32>, !tile.ptr<f32>",
     "'tile.block_store' op an array of 2 dimensions needs as many extents, strides and checks"},
    {"tile.block_reduce fadd, %f, %q[%z, %z] of [%z, %z] by [%z, %z] checked = [true, true] : "
     "tensor<2x4xf32>, !tile.ptr<i32>",
     "'tile.block_reduce' op elements are 'f32', but base points to 'i32'"},
    {"%a = tile.block_gather %v, %p[%z] of [%z, %z] by [%z, %z] checked = [true, true] : "
     "tensor<8xi32>, !tile.ptr<f32> -> tensor<4x8xf32>",
     "'tile.block_gather' op needs one row number for each row of a matrix"},
    {"%a = tile.block_gather %v, %p[%z, %z] of [%z, %z] by [%z, %z] checked = [true, true] : "
     "tensor<8xi32>, !tile.ptr<f32> -> tensor<8x8xf32>",
     "'tile.block_gather' op needs 1 offsets"},
    {"tile.block_scatter %f, %v, %p[%z] of [%z, %z] by [%z, %z] checked = [true, true] : "
     "tensor<2x4xf32>, tensor<8xi32>, !tile.ptr<f32>",
     "'tile.block_scatter' op needs one row number for each row of a matrix"},
    // shared memory
    {"%a = tile.buffer_alloc : !tile.buffer<0, [16, 8], f16, " SHARED_16X8 ">",
     "a buffer has one stage or more, not 0"},
    {"%a = tile.buffer_alloc : !tile.buffer<2, [16, 8], i1, " SHARED_16X8 ">",
     "a buffer is of numbers of whole bytes, not of 'i1'"},
    {"%a = tile.buffer_alloc : !tile.buffer<2, [16, 8], !tile.ptr<f16>, " SHARED_16X8 ">",
     "a buffer is of numbers of whole bytes, not of '!tile.ptr<f16>'"},
    {"%a = tile.buffer_alloc : !tile.buffer<2, [8, 16], f16, " SHARED_16X8 ">",
     "shared layout is of a tile of 16x8, not of 8x16"},
    {"%u = tile.buffer_alloc : " BUFFER_16X8 "\n"
     "%ps = tile.splat %p : !tile.ptr<f32> -> tensor<3x!tile.ptr<f32>>\n"
     "tile.async_copy %ps, %u[%i] {axis = 9 : i32, width = -3 : i32} : "
     "tensor<3x!tile.ptr<f32>>, " BUFFER_16X8,
     "'tile.async_copy' op copies a tile of 3, stages are of 16x8"},
    {"%u = tile.buffer_alloc : " BUFFER_16X8 "\n"
     "%ps = tile.splat %p : !tile.ptr<f32> -> tensor<16x8x!tile.ptr<f32>>\n"
     "tile.async_copy %ps, %u[%i] {axis = 1 : i32, width = 1 : i32} : "
     "tensor<16x8x!tile.ptr<f32>>, " BUFFER_16X8,
     "'tile.async_copy' op copies elements of type 'f32', stages hold 'f16'"},
    {COPY_TO_BUFFER("", " {axis = 9 : i32, width = 2 : i32}"),
     "'tile.async_copy' op axis 9 is out of range for rank 2"},
    {COPY_TO_BUFFER("", " {axis = -1 : i32, width = 2 : i32}"),
     "'tile.async_copy' op axis -1 is out of range for rank 2"},
    {COPY_TO_BUFFER("", " {axis = 1 : i32, width = -3 : i32}"),
     "'tile.async_copy' op width -3 is no power of two"},
    {COPY_TO_BUFFER("", " {axis = 1 : i32, width = 6 : i32}"),
     "'tile.async_copy' op width 6 is no power of two"},
    {COPY_TO_BUFFER("", " {axis = 1 : i32, width = 16 : i32}"),
     "'tile.async_copy' op width 16 does not divide extent 8 of axis 1"},
    {COPY_TO_BUFFER("", " {axis = 1 : i32, width = 4 : i32}"),
     "'tile.async_copy' op width is 4, and a thread holds 2 neighbours along axis 1"},
    {"%u = tile.buffer_alloc : " BUFFER_16X8 "\n%t = arith.constant dense<true> : tensor<8x16xi1>\n"
     "%h = tile.ptr_cast %p : !tile.ptr<f32> -> !tile.ptr<f16>\n"
     "%ps = tile.splat %h : !tile.ptr<f16> -> tensor<16x8x!tile.ptr<f16>>\n"
     "\"tile.async_copy\"(%ps, %u, %i, %t) <{axis = 1 : i32, width = 1 : i32}> : "
     "(tensor<16x8x!tile.ptr<f16>>, " BUFFER_16X8 ", i32, tensor<8x16xi1>) -> ()",
     "'tile.async_copy' op failed to verify that mask has the shape of ptr"},
    {"tile.async_wait -4",
     "'tile.async_wait' op attribute 'pending' failed to satisfy constraint: 32-bit signless "
     "integer attribute whose value is non-negative"},
    {"%u = tile.buffer_alloc : " BUFFER_16X8 "\n"
     "%a = tile.buffer_load %u[%i] : " BUFFER_16X8 " -> tensor<64x4xf16>",
     "'tile.buffer_load' op reads a tile of 64x4, stages are of 16x8"},
    {"%u = tile.buffer_alloc : " BUFFER_16X8 "\n"
     "%a = tile.buffer_load %u[%i] : " BUFFER_16X8 " -> tensor<16x8xf32>",
     "'tile.buffer_load' op reads elements of type 'f32', stages hold 'f16'"},
    {"%u = tile.buffer_alloc : " BUFFER_16X8 "\n%a = arith.constant dense<1.0> : tensor<64x4xf16>\n"
     "tile.buffer_store %a, %u[%i] : tensor<64x4xf16>, " BUFFER_16X8,
     "'tile.buffer_store' op writes a tile of 64x4, stages are of 16x8"},
    {"%u = tile.buffer_alloc : " BUFFER_16X8 "\n%a = arith.constant dense<1.0> : tensor<16x8xf32>\n"
     "tile.buffer_store %a, %u[%i] : tensor<16x8xf32>, " BUFFER_16X8,
     "'tile.buffer_store' op writes elements of type 'f32', stages hold 'f16'"},
    // values in shared memory
    {BUFFERS "%a = tile.to_buffer %h : tensor<16x8xf16> -> " BUFFER_16X8,
     "'tile.to_buffer' op holds one tile, so its buffer has one stage"},
    {BUFFERS "%a = tile.to_buffer %h : tensor<16x8xf16> -> " ONE_8X16,
     "'tile.to_buffer' op stores a tile of 16x8, stages are of 8x16"},
    {BUFFERS "%w = arith.constant dense<1.0> : tensor<16x8xf32>\n"
             "%a = tile.to_buffer %w : tensor<16x8xf32> -> " ONE_16X8,
     "'tile.to_buffer' op stores elements of type 'f32', stages hold 'f16'"},
    {BUFFERS "%a = tile.buffer_view %u[%i] order = [0, 1] : " BUFFER_16X8 " -> " BUFFER_16X8,
     "'tile.buffer_view' op shows one stage, and says which where there are several"},
    {BUFFERS "%a = tile.buffer_view %u order = [0, 1] : " BUFFER_16X8 " -> " ONE_16X8,
     "'tile.buffer_view' op shows one stage, and says which where there are several"},
    {BUFFERS "%a = tile.buffer_view %one order = [1, 1] : " ONE_16X8 " -> " ONE_8X16,
     "'tile.buffer_view' op `order` should name each axis once"},
    {BUFFERS "%a = tile.buffer_view %one order = [0] : " ONE_16X8 " -> " ONE_16X8,
     "'tile.buffer_view' op `order` should name each axis once"},
    {BUFFERS "%a = tile.buffer_view %one order = [2, 0] : " ONE_16X8 " -> " ONE_8X16,
     "'tile.buffer_view' op `order` should name each axis once"},
    {"%w = tile.buffer_alloc : " REPEATED_48X8
     "\n%a = tile.buffer_view %w order = [1, 0] : " REPEATED_48X8 " -> " REPEATED_48X8,
     "'tile.buffer_view' op a view of '" REPEATED_48X8
     "' in that order is not of type '" REPEATED_48X8 "'"},
    // The axes are exchanged in the order alone, or in the layout alone; other elements.
    {BUFFERS "%a = tile.buffer_view %one order = [1, 0] : " ONE_16X8 " -> " ONE_16X8,
     "'tile.buffer_view' op a view of '" ONE_16X8 "' in that order is not of type '" ONE_16X8 "'"},
    {BUFFERS "%a = tile.buffer_view %one order = [0, 1] : " ONE_16X8 " -> " ONE_8X16,
     "'tile.buffer_view' op a view of '" ONE_16X8 "' in that order is not of type '" ONE_8X16 "'"},
    {BUFFERS "%a = tile.buffer_view %one order = [0, 1] : " ONE_16X8
             " -> !tile.buffer<1, [16, 8], bf16, <16x8, " OFFSETS_16X8,
     "'tile.buffer_view' op a view of '" ONE_16X8 "' in that order is not of type "
     "'!tile.buffer<1, [16, 8], bf16, <16x8, " OFFSETS_16X8 "'"},
    // products of several warps
    {BUFFERS "%a = tile.dot_async %u, %turned, %s" BY_WGMMA BUFFER_16X8 " * " ONE_8X16
             " -> tensor<16x16xf32>",
     "'tile.dot_async' op reads buffers of one stage; a view shows one of several"},
    {BUFFERS "%a = tile.dot_async %h, %u, %s" BY_WGMMA "tensor<16x8xf16> * " BUFFER_16X8
             " -> tensor<16x16xf32>",
     "'tile.dot_async' op reads buffers of one stage; a view shows one of several"},
    {BUFFERS "%a = tile.dot_async %one, %one, %s" BY_WGMMA ONE_16X8 " * " ONE_16X8
             " -> tensor<16x16xf32>",
     "'tile.dot_async' op inner extents differ: 8 and 16"},
    {BUFFERS "%a = tile.dot_async %h, %one, %s" BY_WGMMA "tensor<16x8xf16> * " ONE_16X8
             " -> tensor<16x16xf32>",
     "'tile.dot_async' op inner extents differ: 8 and 16"},
    {BUFFERS "%a = tile.dot_async %turned, %one, %s" BY_WGMMA ONE_8X16 " * " ONE_16X8
             " -> tensor<16x16xf32>",
     "'tile.dot_async' op accumulator does not have the extents of the product"},
    {BUFFERS "%a = tile.dot_async %one, %turned, %b" BY_WGMMA ONE_16X8 " * " ONE_8X16
             " -> tensor<3x2x4xf32>",
     "'tile.dot_async' op multiplies matrices, no batches of them"},
    {BUFFERS "%a = \"tile.dot_async\"(%one, %turned, %s) <{instruction = \"x\"}> : (" ONE_16X8
             ", " ONE_8X16 ", tensor<16x16xf32>) -> tensor<8x8xf32>",
     "'tile.dot_async' op failed to verify that all of {acc, result} have same type"},
    {BUFFERS "%a = \"tile.dot_wait\"(%s, %h) <{pending = 0 : i32}> : (tensor<16x16xf32>, "
             "tensor<16x8xf16>) -> tensor<16x16xf32>",
     "'tile.dot_wait' op gives what it takes"},
    {BUFFERS "%a = tile.dot_wait 0, %s : (tensor<16x16xf32>) -> tensor<16x8xf32>",
     "'tile.dot_wait' op gives what it takes"},
    {"tile.dot_wait -1 : () -> ()",
     "'tile.dot_wait' op attribute 'pending' failed to satisfy constraint: 32-bit signless integer "
     "attribute whose value is non-negative"},
    // hints
    {"%a = tile.hint %m {divisibility = array<i64: 16>} : tensor<2x4xi32>",
     "'tile.hint' op takes one number per dimension, 2 here"},
    {"%a = tile.hint %i {constancy = array<i64: 0>} : i32",
     "'tile.hint' op numbers should be positive"},
};

INSTANTIATE_TEST_SUITE_P(TileDialect, TileVerifier, testing::ValuesIn(kRefusals));

TEST(TileDialect, takes_accesses_that_fit) {
  for (const char *text : {
           LAID_OUT "%a = tile.load %ps access = <axis = 1, width = 2> : " POINTERS_16X8,
           LAID_OUT "%a = tile.load %ps volatile access = <axis = 1, width = 2> : " POINTERS_16X8,
           LAID_OUT "tile.store %ps, %xs access = <axis = 0, width = 1> : " POINTERS_16X8,
           LAID_OUT "%a = tile.atomic_rmw fadd, relaxed, gpu, %ps, %xs access = "
                    "<axis = 1, width = 2> : " POINTERS_16X8,
           COPY_TO_BUFFER("", " {axis = 1 : i32, width = 2 : i32}"),
           COPY_TO_BUFFER("", " {axis = 0 : i32, width = 1 : i32}"),
           COPY_TO_BUFFER("%t = arith.constant true\n%ts = tile.splat %t : i1 -> "
                          "tensor<16x8xi1, #tile.layout<16x8, register = [(0, 1)], "
                          "lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(8, 0)]>>\n",
                          ", %ts {axis = 1 : i32, width = 2 : i32}"),
           "tile.async_wait 0",
           "%u = tile.buffer_alloc : " BUFFER_16X8 "\n"
           "%a = tile.buffer_load %u[%i] : " BUFFER_16X8 " -> tensor<16x8xf16>",
           "%u = tile.buffer_alloc : " BUFFER_16X8 "\n"
           "%a = arith.constant dense<1.0> : tensor<16x8xf16>\ntile.schedule_barrier\n"
           "tile.buffer_store %a, %u[%i] : tensor<16x8xf16>, " BUFFER_16X8,
       })
    EXPECT_EQ(firstDiagnostic(std::string(kPrelude) + text), "") << text;
}

/// The text that a module is printed as.
std::string printed(ModuleOp module) {
  std::string out;
  llvm::raw_string_ostream(out) << module;
  return out;
}

TEST(TileDialect, round_trips) {
  const char *text = R"(func.func @k(%p: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %i = tile.arange 0, 8 : tensor<8xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  %q = tile.ptr_add %ps, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %ns = tile.splat %n : i32 -> tensor<8xi32>
  %m = arith.cmpi slt, %i, %ns : tensor<8xi32>
  %o = arith.constant dense<0.0> : tensor<8xf32>
  %x = tile.load %q, %m, %o cache = cg : tensor<8x!tile.ptr<f32>>
  %s = tile.reduce(%x) axis 0 : (tensor<8xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %old = tile.atomic_rmw fadd, acq_rel, gpu, %p, %s : !tile.ptr<f32>
  tile.store %q, %x, %m evict = evict_first : tensor<8x!tile.ptr<f32>>
  %y = tile.load %q cache = cg access = <axis = 0, width = 4> : tensor<8x!tile.ptr<f32>>
  tile.store %q, %y cache = cs access = <axis = 0, width = 8> : tensor<8x!tile.ptr<f32>>
  return
})";
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<sectile::tile::TileDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  std::string once = printed(*module);
  auto again = parseSourceString<ModuleOp>(once, &context);
  ASSERT_TRUE(again);
  EXPECT_EQ(once, printed(*again));
  EXPECT_NE(once.find("cache = cg"), std::string::npos);
  EXPECT_NE(once.find("cache = cg access = <axis = 0, width = 4>"), std::string::npos) << once;
}

TEST(TileDialect, products_of_several_warps_round_trip) {
  const std::string text =
      "func.func @k(%x: tensor<16x8xf16>, %sum: tensor<16x16xf32>, %i: i32) {"
      "\n%u = tile.buffer_alloc : " BUFFER_16X8
      "\n%lhs = tile.to_buffer %x : tensor<16x8xf16> -> " ONE_16X8
      "\n%stage = tile.buffer_view %u[%i] order = [1, 0] : " BUFFER_16X8 " -> " ONE_8X16
      "\n%rhs = tile.buffer_view %lhs order = [1, 0] : " ONE_16X8 " -> " ONE_8X16
      "\ntile.proxy_fence\ntile.barrier shared\n"
      "%a = tile.dot_async %lhs, %rhs, %sum" BY_WGMMA ONE_16X8 " * " ONE_8X16
      " -> tensor<16x16xf32>\n"
      "%b = tile.dot_async %x, %stage, %a" BY_WGMMA "tensor<16x8xf16> * " ONE_8X16
      " -> tensor<16x16xf32>\ntile.dot_wait 1 : () -> ()\n"
      "%c:2 = tile.dot_wait 0, %b, %a : (tensor<16x16xf32>, "
      "tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>)\n"
      "return\n}";
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<sectile::tile::TileDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  std::string once = printed(*module);
  auto again = parseSourceString<ModuleOp>(once, &context);
  ASSERT_TRUE(again) << once;
  EXPECT_EQ(once, printed(*again));
  for (const char *piece :
       {"tile.to_buffer %arg0 : tensor<16x8xf16> -> <1, [16, 8], f16, ",
        "tile.buffer_view %0[%arg2] order = [1, 0] : <2, [16, 8], f16, ",
        "tile.buffer_view %1 order = [1, 0] : <1, [16, 8], f16, ", "-> <1, [8, 16], f16, ",
        "tile.proxy_fence\n",
        "%4 = tile.dot_async %1, %3, %arg1 instruction = \"wgmma.m64n16k16.f32.f16.f16\" : "
        "!tile.buffer<1, [16, 8], f16, ",
        "%5 = tile.dot_async %arg0, %2, %4 instruction = \"wgmma.m64n16k16.f32.f16.f16\" : "
        "tensor<16x8xf16> * <1, [8, 16], f16, ",
        "tile.dot_wait 1 : () -> ()\n", ":2 = tile.dot_wait 0, %5, %4 : (tensor<16x16xf32>, "})
    EXPECT_NE(once.find(piece), std::string::npos) << piece << "\n" << once;
  // What is under way, and fences for it, are effects: nothing takes them for dead code.
  module->walk([](Operation *op) {
    llvm::StringRef name = op->getName().stripDialect();
    if (name == "dot_async" || name == "dot_wait" || name == "proxy_fence") {
      EXPECT_FALSE(isMemoryEffectFree(op)) << name.str();
    } else if (name == "to_buffer" || name == "buffer_view") {
      EXPECT_TRUE(isMemoryEffectFree(op)) << name.str();
    }
  });
}

} // namespace
