// Operations of the `tile` dialect. Groups: program, creation, shape, layouts, pointers, memory, atomics,
// reductions, matrix product, hints, debugging; shared memory is SharedMemoryOps.td. Semantics and an example stand
// with each operation.
#ifndef SECTILE_LANG_TILEOPS_TD
#define SECTILE_LANG_TILEOPS_TD

include "tile/TileDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

//===-- program -------------------------------------------------------------------------------===//

class Tile_GridOp<string mnemonic> : Tile_Op<mnemonic, [Pure]> {
  let arguments = (ins ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
  let builders = [OpBuilder<(ins "int32_t":$axis), [{
    build($_builder, $_state, $_builder.getI32Type(), axis);
  }]>];
}

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "index of this program along one axis of the grid";
  let description = [{
    A number in `[0, tile.num_programs axis)`. Where a block of threads runs several programs, `of` is that of the one
    that runs now. Examples: `%pid = tile.program_id 0`, `%pid = tile.program_id 0 of %i`
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis, Optional<I32>:$round);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis (`of` $round^)? attr-dict";
  let builders = [OpBuilder<(ins "int32_t":$axis, CArg<"::mlir::Value", "{}">:$round), [{
    build($_builder, $_state, $_builder.getI32Type(), axis, round);
  }]>];
}

def Tile_NumProgramsOp : Tile_GridOp<"num_programs"> {
  let summary = "number of programs along one axis of the grid";
  let description = [{ Example: `%n = tile.num_programs 0` }];
}

class Tile_WorkerOp<string mnemonic> : Tile_Op<mnemonic, [Pure]> {
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, $_builder.getI32Type()); }]>];
}

def Tile_WorkerIdOp : Tile_WorkerOp<"worker_id"> {
  let summary = "index of this block of threads among those that share the programs along x, or all";
  let description = [{
    Made by `make-persistent`: a kernel that has it runs in `tile.num_workers` blocks along x, and the launch tells it
    the number of its programs. `of_grid`: the blocks share the programs of all the grid, and there are none along y and
    z. A number in `[0, tile.num_workers)`. Examples: `%w = tile.worker_id`, `%w = tile.worker_id of_grid`
  }];
  let arguments = (ins UnitAttr:$ofGrid);
  let assemblyFormat = "(`of_grid` $ofGrid^)? attr-dict";
  let builders = [OpBuilder<(ins "bool":$ofGrid), [{
    build($_builder, $_state, $_builder.getI32Type(), ofGrid);
  }]>];
}

def Tile_NumWorkersOp : Tile_WorkerOp<"num_workers"> {
  let summary = "number of blocks of threads that share the programs along x, or all";
  let description = [{ At least 1, and at most as many as they share. Example: `%n = tile.num_workers` }];
}

def Tile_TeamIdOp : Tile_WorkerOp<"team_id"> {
  let summary = "which of the teams of a block of threads this is";
  let description = [{
    A block with `tile.teams` has the threads of so many programs. What a kernel does each team does for itself, barriers
    included; what is `of_block` belongs to all. A number in `[0, teams)`. Example: `%t = tile.team_id`
  }];
}

//===-- creation ------------------------------------------------------------------------------===//

def Tile_ArangeOp : Tile_Op<"arange", [Pure]> {
  let summary = "the consecutive integers [start, end)";
  let description = [{
    Example: `%i = tile.arange 0, 128 : tensor<128xi32>`
  }];
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs 1DTensorOf<[I32]>:$result);
  let assemblyFormat = "$start `,` $end attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "a tile whose every element is one scalar";
  let description = [{
    Example: `%t = tile.splat %x : f32 -> tensor<64x32xf32>`
  }];
  let arguments = (ins Tile_Element:$src);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

//===-- numbers -------------------------------------------------------------------------------===//

def Tile_NarrowOp : Tile_Op<"narrow", [Pure, SameOperandsAndResultShape, Elementwise, Scalarizable,
                                       Vectorizable, Tensorizable]> {
  let summary = "converts floating-point numbers to fp8, which saturates";
  let description = [{
    What is beyond the largest finite number, and infinity, becomes the largest finite number of its sign; NaN
    stays NaN. Rounds once, to nearest even or `toward_zero`. (`arith.truncf` has overflows become infinity or
    NaN.) Example: `%b = tile.narrow %a : tensor<64xf32> -> tensor<64xf8E4M3FN>`
  }];
  let arguments = (ins AnyTypeOf<[AnyFloat, RankedTensorOf<[AnyFloat]>]>:$src, UnitAttr:$toward_zero);
  let results = (outs AnyTypeOf<[Tile_Fp8, RankedTensorOf<[Tile_Fp8]>]>:$result);
  let assemblyFormat = "$src (`toward_zero` $toward_zero^)? attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
}

//===-- shape ---------------------------------------------------------------------------------===//

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure, SameOperandsAndResultElementType]> {
  let summary = "repeats a tile along its extents of one";
  let description = [{
    Rank stays. Example: `%b = tile.broadcast %a : tensor<1x32xf32> -> tensor<64x32xf32>`
  }];
  let arguments = (ins Tile_Tile:$src);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_ExpandDimsOp : Tile_Op<"expand_dims", [Pure, SameOperandsAndResultElementType]> {
  let summary = "inserts an extent of one at `axis` of the result";
  let description = [{
    Example: `%b = tile.expand_dims %a {axis = 0} : tensor<32xf32> -> tensor<1x32xf32>`
  }];
  let arguments = (ins Tile_Tile:$src, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure, SameOperandsAndResultElementType]> {
  let summary = "the same elements in row-major order under other extents";
  let description = [{
    Example: `%b = tile.reshape %a : tensor<8x16xf32> -> tensor<128xf32>`
  }];
  let arguments = (ins Tile_Tile:$src);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure, SameOperandsAndResultElementType]> {
  let summary = "permutes the dimensions: result extent d is source extent order[d]";
  let description = [{
    Example: `%b = tile.transpose %a [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>`
  }];
  let arguments = (ins Tile_Tile:$src, DenseI32ArrayAttr:$order);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src $order attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_FlipOp : Tile_Op<"flip", [Pure, SameOperandsAndResultType]> {
  let summary = "reverses a tile along `axis`";
  let description = [{ Example: `%b = tile.flip %a {axis = 0} : tensor<8xf32>` }];
  let arguments = (ins Tile_Tile:$src, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_JoinOp : Tile_Op<"join", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "pairs up two tiles in a new last dimension of extent two";
  let description = [{
    `result[..., 0] = lhs`, `result[..., 1] = rhs`.
    Example: `%c = tile.join %a, %b : tensor<8xf32> -> tensor<8x2xf32>`
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_SplitOp : Tile_Op<"split", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "undoes `tile.join`: the two halves of a last dimension of extent two";
  let description = [{
    Example: `%a, %b = tile.split %c : tensor<8x2xf32> -> tensor<8xf32>`
  }];
  let arguments = (ins Tile_Tile:$src);
  let results = (outs Tile_Tile:$lhs, Tile_Tile:$rhs);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($lhs)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_CatOp : Tile_Op<"cat", [Pure]> {
  let summary = "concatenates two tiles along `axis`";
  let description = [{
    Extents along the other axes are equal.
    Example: `%c = tile.cat %a, %b {axis = 0} : tensor<8xf32>, tensor<4xf32> -> tensor<12xf32>`
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [Pure]> {
  let summary = "picks elements of a tile along `axis` by index";
  let description = [{
    `result[i, j] = src[index[i, j], j]` for axis 0 of two. An index outside the extent is undefined.
    Example: `%c = tile.gather %a[%i] {axis = 0} : tensor<8xf32>, tensor<4xi32> -> tensor<4xf32>`
  }];
  let arguments = (ins Tile_Tile:$src, RankedTensorOf<[AnySignlessInteger]>:$index, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat =
    "$src `[` $index `]` attr-dict `:` type($src) `,` type($index) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SortOp : Tile_Op<"sort", [Pure, SameOperandsAndResultType]> {
  let summary = "sorts integers along `axis`, the least first";
  let description = [{
    Integers are compared as signed ones; floats are sorted by keys of their bits, which front ends make.
    `bitonic` promises that what lies along the axis rises up to some element and falls from there on, or
    is such a sequence turned round a circle.
    Example: `%s = tile.sort %x axis 0 : tensor<1024xi32>`
  }];
  let arguments = (ins RankedTensorOf<[I8, I16, I32, I64]>:$src, I32Attr:$axis, UnitAttr:$bitonic);
  let results = (outs RankedTensorOf<[I8, I16, I32, I64]>:$result);
  let assemblyFormat = "$src `axis` $axis (`bitonic` $bitonic^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_HistogramOp : Tile_Op<"histogram", [Pure]> {
  let summary = "how often each of the numbers 0, 1, 2 ... is among a tile's elements";
  let description = [{
    Elements beyond the last bin, negative ones and those whose mask is false are not counted.
    Example: `%h = tile.histogram %x, %m : tensor<1024xi32>, tensor<1024xi1> -> tensor<256xi32>`
  }];
  let arguments = (ins RankedTensorOf<[I32, I64]>:$src, Optional<RankedTensorOf<[I1]>>:$mask);
  let results = (outs 1DTensorOf<[I32]>:$result);
  let assemblyFormat = [{
    $src (`,` $mask^)? attr-dict `:` type($src) (`,` type($mask)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

//===-- elements one by one -------------------------------------------------------------------===//

def Tile_MapOp : Tile_Op<"map", [SameOperandsShape, SingleBlock, IsolatedFromAbove,
                                 RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "a function of elements, applied to each";
  let description = [{
    The region takes one element of each source and yields one element for each result. It may branch and
    loop, differently for every element, and has no effects.

    ```mlir
    %y = tile.map(%x) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: f32):
      %c = math.absf %a : f32
      tile.yield %c : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$srcs);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$function);
  let assemblyFormat = "`(` $srcs `)` attr-dict `:` functional-type($srcs, $results) $function";
  let hasVerifier = 1;
}

def Tile_InlineAsmOp : Tile_Op<"inline_asm", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                              ConditionallySpeculatable]> {
  let summary = "instructions of the target, applied to elements";
  let description = [{
    One instance of `text` takes `pack` elements of each source and gives `pack` of each result. Elements below
    32 bits lie side by side in registers of 32 bits. `constraints` are LLVM's: outputs, then inputs. Which
    elements meet in an instance is not said. Unless `pure`, it may have effects.
    Example: `%y = tile.inline_asm "tanh.approx.f32 $0, $1;" "=f,f" pure pack 1 (%x) : (tensor<64xf32>) -> tensor<64xf32>`
  }];
  let arguments = (ins StrAttr:$text, StrAttr:$constraints, UnitAttr:$pure, I32Attr:$pack,
                       Variadic<Tile_Value>:$srcs);
  let results = (outs Variadic<Tile_Value>:$results);
  let assemblyFormat = [{
    $text $constraints (`pure` $pure^)? `pack` $pack `(` $srcs `)` attr-dict
    `:` functional-type($srcs, $results)
  }];
  let extraClassDeclaration = [{
    ::mlir::Speculation::Speculatability getSpeculatability() {
      return getPure() ? ::mlir::Speculation::Speculatable : ::mlir::Speculation::NotSpeculatable;
    }
  }];
  let hasVerifier = 1;
}

//===-- layouts -------------------------------------------------------------------------------===//

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure, SameOperandsAndResultShape,
                                                     SameOperandsAndResultElementType]> {
  let summary = "the same tile, held by threads in another layout";
  let description = [{
    Moves elements between registers, lanes or warps, whichever the two layouts differ in. Both types are laid
    out. Example, two elements per lane to one:
    ```mlir
    %b = tile.convert_layout %a
        : tensor<4xf32, #tile.layout<4, register = [1], lane = [2]>>
       -> tensor<4xf32, #tile.layout<4, register = [2], lane = [1]>>
    ```
  }];
  let arguments = (ins Tile_Tile:$src);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

//===-- pointers ------------------------------------------------------------------------------===//

def Tile_PtrAddOp : Tile_Op<"ptr_add", [Pure, AllTypesMatch<["ptr", "result"]>,
                                       SameOperandsAndResultShape]> {
  let summary = "moves pointers by signed offsets counted in elements";
  let description = [{
    The offset is sign-extended to 64 bits and multiplied by the element size.
    With `in_buffer` the pointers are one pointer, repeated, with i32 offsets: accesses through them may count on it
    that an offset, in bytes and modulo 2^32, is that of the element, and below 2^31, wherever memory is touched.
    Example:
    ```mlir
    %q = tile.ptr_add %p, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
    %s = tile.splat %x : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %r = tile.ptr_add %s, %i in_buffer : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
    ```
  }];
  let arguments = (ins Tile_PtrLike:$ptr, Tile_IntLike:$offset, UnitAttr:$inBuffer);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$ptr `,` $offset (`in_buffer` $inBuffer^)? attr-dict `:` type($ptr) `,` type($offset)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

class Tile_PtrConversionOp<string mnemonic, Type from, Type to>
    : Tile_Op<mnemonic, [Pure, SameOperandsAndResultShape]> {
  let arguments = (ins from:$src);
  let results = (outs to:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
}

def Tile_PtrToIntOp : Tile_PtrConversionOp<"ptr_to_int", Tile_PtrLike, Tile_IntLike> {
  let summary = "the address as a 64-bit integer";
  let description = [{ Example: `%i = tile.ptr_to_int %p : !tile.ptr<f32> -> i64` }];
  let hasFolder = 1;
}

def Tile_IntToPtrOp : Tile_PtrConversionOp<"int_to_ptr", Tile_IntLike, Tile_PtrLike> {
  let summary = "the pointer with that 64-bit address";
  let description = [{ Example: `%p = tile.int_to_ptr %i : i64 -> !tile.ptr<f32>` }];
  let hasFolder = 1;
}

def Tile_PtrCastOp : Tile_PtrConversionOp<"ptr_cast", Tile_PtrLike, Tile_PtrLike> {
  let summary = "the same address, pointing to another element type";
  let description = [{ Example: `%q = tile.ptr_cast %p : !tile.ptr<f32> -> !tile.ptr<i32>` }];
  let hasFolder = 1;
}

//===-- memory --------------------------------------------------------------------------------===//

// Operand types of an access follow from its pointer's.
class Tile_PointeeMatches<string operand>
    : TypesMatchWith<operand # " is what ptr points to", "ptr", operand,
                     "::sectile::tile::pointeeOf($_self)">;
// The mask is optional: `required` operands come before it.
class Tile_MaskMatches<int required> : TypesMatchWith<
    "mask has the shape of ptr", "ptr", "mask", "::sectile::tile::maskOf($_self)",
    "$_op.getNumOperands() <= " # required # " || std::equal_to<>()">;

def Tile_LoadOp : Tile_Op<"load", [
      AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
      Tile_PointeeMatches<"result">,
      TypesMatchWith<"mask has the shape of ptr", "ptr", "mask", "::sectile::tile::maskOf($_self)",
                     "!::llvm::cast<::sectile::tile::LoadOp>(&$_op).getMask() || std::equal_to<>()">,
      TypesMatchWith<"other is what ptr points to", "ptr", "other",
                     "::sectile::tile::pointeeOf($_self)",
                     "!::llvm::cast<::sectile::tile::LoadOp>(&$_op).getOther() || std::equal_to<>()">]> {
  let summary = "reads the elements behind pointers";
  let description = [{
    Where `mask` is false memory is not touched and the element is `other`, or zero without one. `access` is
    there when layouts are final. With `within` a block, what is read is also the block of the tile's extents that
    begins there, with zeros outside the array; a copy engine may read that, and not the pointers.
    Example:
    ```mlir
    %x = tile.load %p, %m, %o cache = cg : tensor<8x!tile.ptr<f32>>
    %z = tile.load %p, %m within %block : tensor<64x64x!tile.ptr<f16>>
    %y = tile.load %p access = <axis = 0, width = 4> : tensor<8x!tile.ptr<f32>, #l>
    ```
  }];
  let arguments = (ins
    Tile_PtrLike:$ptr, Optional<Tile_BoolLike>:$mask, Optional<Tile_NumberLike>:$other,
    Optional<Tile_Block>:$block,
    DefaultValuedAttr<Tile_CacheModifier, "::sectile::tile::CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "::sectile::tile::EvictionPolicy::Normal">:$eviction,
    UnitAttr:$isVolatile, OptionalAttr<Tile_AccessAttr>:$access);
  let results = (outs Tile_NumberLike:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$ptr, "::mlir::Value":$mask,
                             "::mlir::Value":$other, CArg<"CacheModifier", "CacheModifier::None">:$cache,
                             CArg<"EvictionPolicy", "EvictionPolicy::Normal">:$eviction,
                             CArg<"bool", "false">:$isVolatile), [{
    build($_builder, $_state, result, ptr, mask, other, ::mlir::Value(), cache, eviction, isVolatile, AccessAttr());
  }]>];
  let assemblyFormat = [{
    $ptr (`,` $mask^)? (`,` $other^)?
    (`within` $block^)? oilist(`cache` `=` $cache | `evict` `=` $eviction | `volatile` $isVolatile)
    (`access` `=` $access^)? attr-dict `:` type($ptr)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>, Tile_PointeeMatches<"value">,
      TypesMatchWith<"mask has the shape of ptr", "ptr", "mask", "::sectile::tile::maskOf($_self)",
                     "!::llvm::cast<::sectile::tile::StoreOp>(&$_op).getMask() || std::equal_to<>()">]> {
  let summary = "writes elements behind pointers";
  let description = [{
    Where `mask` is false memory is not touched. Two elements behind the same pointer: one of them wins. `access`
    is there when layouts are final. With `within` a block, what is written is also the block of the tile's extents
    that begins there, but for what is outside the array; a copy engine may write that.
    Example:
    ```mlir
    tile.store %p, %x, %m : tensor<8x!tile.ptr<f32>>
    tile.store %p, %y, %m within %block : tensor<64x64x!tile.ptr<f16>>
    ```
  }];
  let arguments = (ins
    Tile_PtrLike:$ptr, Tile_NumberLike:$value, Optional<Tile_BoolLike>:$mask, Optional<Tile_Block>:$block,
    DefaultValuedAttr<Tile_CacheModifier, "::sectile::tile::CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "::sectile::tile::EvictionPolicy::Normal">:$eviction,
    OptionalAttr<Tile_AccessAttr>:$access);
  let builders = [OpBuilder<(ins "::mlir::Value":$ptr, "::mlir::Value":$value, "::mlir::Value":$mask,
                             CArg<"CacheModifier", "CacheModifier::None">:$cache,
                             CArg<"EvictionPolicy", "EvictionPolicy::Normal">:$eviction), [{
    build($_builder, $_state, ptr, value, mask, ::mlir::Value(), cache, eviction, AccessAttr());
  }]>];
  let assemblyFormat = [{
    $ptr `,` $value (`,` $mask^)? (`within` $block^)? oilist(`cache` `=` $cache | `evict` `=` $eviction)
    (`access` `=` $access^)? attr-dict `:` type($ptr)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

//===-- atomics -------------------------------------------------------------------------------===//

def Tile_AtomicRmwOp : Tile_Op<"atomic_rmw", [
      MemoryEffects<[MemRead, MemWrite]>, Tile_PointeeMatches<"value">,
      Tile_PointeeMatches<"result">, Tile_MaskMatches<2>]> {
  let summary = "atomically combines elements into memory, returning what was there";
  let description = [{
    Where `mask` is false memory is not touched and the result is undefined. `access` is there when layouts
    are final.
    Example: `%old = tile.atomic_rmw fadd, acq_rel, gpu, %p, %x, %m : tensor<8x!tile.ptr<f32>>`
  }];
  let arguments = (ins
    Tile_RmwKind:$kind, Tile_MemorySemantic:$semantic, Tile_MemoryScope:$scope,
    Tile_PtrLike:$ptr, Tile_NumberLike:$value, Optional<Tile_BoolLike>:$mask,
    OptionalAttr<Tile_AccessAttr>:$access);
  let results = (outs Tile_NumberLike:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "RmwKind":$kind, "MemorySemantic":$semantic,
                             "MemoryScope":$scope, "::mlir::Value":$ptr, "::mlir::Value":$value,
                             "::mlir::Value":$mask), [{
    build($_builder, $_state, result, kind, semantic, scope, ptr, value, mask, AccessAttr());
  }]>];
  let assemblyFormat = [{
    $kind `,` $semantic `,` $scope `,` $ptr `,` $value (`,` $mask^)? (`access` `=` $access^)?
    attr-dict `:` type($ptr)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_AtomicCasOp : Tile_Op<"atomic_cas", [
      MemoryEffects<[MemRead, MemWrite]>, Tile_PointeeMatches<"expected">,
      Tile_PointeeMatches<"desired">, Tile_PointeeMatches<"result">]> {
  let summary = "atomically replaces elements equal to `expected`, returning what was there";
  let description = [{
    Example: `%old = tile.atomic_cas acq_rel, gpu, %p, %expected, %desired : !tile.ptr<i32>`
  }];
  let arguments = (ins
    Tile_MemorySemantic:$semantic, Tile_MemoryScope:$scope,
    Tile_PtrLike:$ptr, Tile_NumberLike:$expected, Tile_NumberLike:$desired);
  let results = (outs Tile_NumberLike:$result);
  let assemblyFormat = [{
    $semantic `,` $scope `,` $ptr `,` $expected `,` $desired attr-dict `:` type($ptr)
  }];
}

//===-- reductions ----------------------------------------------------------------------------===//

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike,
                                     ParentOneOf<["ReduceOp", "ScanOp", "MapOp"]>]> {
  let summary = "the elements that a reduce, a scan or a map makes";
  let arguments = (ins Variadic<Tile_Element>:$results);
  let assemblyFormat = "$results attr-dict `:` type($results)";
}

class Tile_CombiningOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat(traits, [
        SameOperandsShape, SingleBlock, IsolatedFromAbove, RecursiveMemoryEffects])> {
  let regions = (region SizedRegion<1>:$combiner);
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_CombiningOp<"reduce"> {
  let summary = "combines the elements along one axis";
  let description = [{
    The region takes one left element per source, then one right element per source, and yields one
    element per source. It must be associative and commutative: elements are combined in any order. One with
    effects has them once for each pair that is combined; it may branch where masks can leave them out, and does
    not loop.
    The axis vanishes from the results; reducing rank one gives scalars.

    ```mlir
    %s = tile.reduce(%x) axis 0 : (tensor<8xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$srcs, I32Attr:$axis);
  let results = (outs Variadic<Tile_Value>:$results);
  let assemblyFormat = [{
    `(` $srcs `)` `axis` $axis attr-dict `:` functional-type($srcs, $results) $combiner
  }];
  let hasCanonicalizer = 1;
}

def Tile_ScanOp : Tile_CombiningOp<"scan"> {
  let summary = "running combination of the elements along one axis";
  let description = [{
    Inclusive: `result[i] = src[0] . ... . src[i]`, from the other end if `reverse`. The region must be
    associative; the order of elements is kept. One with effects is as that of `tile.reduce`.

    ```mlir
    %s = tile.scan(%x) axis 0 reverse false : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$srcs, I32Attr:$axis, BoolAttr:$reverse);
  let results = (outs Variadic<Tile_Tile>:$results);
  let assemblyFormat = [{
    `(` $srcs `)` `axis` $axis `reverse` $reverse attr-dict
    `:` functional-type($srcs, $results) $combiner
  }];
  let hasFolder = 1;
}

//===-- matrix product ------------------------------------------------------------------------===//

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + lhs * rhs, matrices or batches of them";
  let description = [{
    lhs is `[B]xMxK`, rhs `[B]xKxN`, acc `[B]xMxN`. Products are accumulated in acc's element type;
    `precision` says how f32 operands may be rounded first where the hardware has no exact product.
    `maxImpreciseAcc`: products that may be added with fewer digits than the accumulator has; without it, any number.
    `instruction` is made by layout assignment for GPUs: the matrix instruction (lang/layout/MatrixInstruction.h) whose
    layouts the three tiles have. A product without it is one of multiply-adds.
    Example:
    ```mlir
    %d = tile.dot %a, %b, %c precision = ieee
        : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins
    RankedTensorOf<[Tile_Number]>:$lhs, RankedTensorOf<[Tile_Number]>:$rhs,
    RankedTensorOf<[Tile_Number]>:$acc,
    DefaultValuedAttr<Tile_InputPrecision, "::sectile::tile::InputPrecision::Tf32">:$precision,
    OptionalAttr<I32Attr>:$maxImpreciseAcc,
    OptionalAttr<StrAttr>:$instruction);
  let results = (outs RankedTensorOf<[Tile_Number]>:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc oilist(`precision` `=` $precision | `instruction` `=` $instruction) attr-dict
    `:` type($lhs) `*` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===-- hints ---------------------------------------------------------------------------------===//

def Tile_HintOp : Tile_Op<"hint", [Pure, SameOperandsAndResultType]> {
  let summary = "the same value, with what the user knows of it per dimension";
  let description = [{
    One number per dimension (one for a scalar). `divisibility`: the first element of every aligned run
    is a multiple of it; `contiguity`: length of runs of consecutive numbers; `constancy`: length of
    runs of equal numbers. With `described` it is what a descriptor
    promises of its base, or of a stride, which is then at least 1; the kernel has not said it of other uses of the value.
    Example: `%j = tile.hint %i {divisibility = array<i64: 16>} : tensor<64xi32>`
  }];
  let arguments = (ins Tile_Value:$src, OptionalAttr<DenseI64ArrayAttr>:$divisibility,
                       OptionalAttr<DenseI64ArrayAttr>:$contiguity,
                       OptionalAttr<DenseI64ArrayAttr>:$constancy, UnitAttr:$described);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$src attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_AssumeOp : Tile_Op<"assume", [MemoryEffects<[MemWrite]>]> {
  let summary = "promises that a condition holds";
  let description = [{ Example: `tile.assume %c : i1` }];
  let arguments = (ins Tile_BoolLike:$condition);
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
  let hasCanonicalizer = 1;
}

//===-- debugging -----------------------------------------------------------------------------===//

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of the program see its earlier memory accesses";
  let description = [{
    `shared`: those to shared memory only, which is what buffers need; made by passes. `of_block`: the threads of all
    teams meet (`tile.team_id`).
    Example: `tile.barrier`, `tile.barrier shared`
  }];
  let arguments = (ins UnitAttr:$sharedOnly, UnitAttr:$ofBlock);
  let assemblyFormat = "(`shared` $sharedOnly^)? (`of_block` $ofBlock^)? attr-dict";
}

def Tile_GridWaitOp : Tile_Op<"grid_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until the launches before this one are done and what they wrote is seen";
  let description = [{
    Of launches with `launch_pdl`, which may begin before. Nothing where a launch begins after the one before it.
    Example: `tile.grid_wait`
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_GridLaunchDependentsOp
    : Tile_Op<"grid_launch_dependents", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "lets the next launch begin once all programs have come here or ended";
  let description = [{ A hint: nothing is seen of this one before it is done. Example: `tile.grid_launch_dependents` }];
  let assemblyFormat = "attr-dict";
}

def Tile_ClockOp : Tile_Op<"clock", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the nanoseconds of a clock that all programs of the device share";
  let description = [{
    Read where it stands among the accesses to memory, once for all threads. Example: `%now = tile.clock`
  }];
  let results = (outs I64:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_ProcessorOp : Tile_Op<"processor", [MemoryEffects<[MemRead]>]> {
  let summary = "number of the multiprocessor, or of the host's processor, that runs this program";
  let description = [{ Example: `%where = tile.processor` }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "prints values once per program";
  let description = [{
    `isSigned` says per operand whether integers print as signed; `names`, where it is there, what
    the source calls them ("" where it does not say).
    Example: `tile.print "x: ", %x {hex = false, isSigned = array<i32: 1>} : tensor<8xf32>`
  }];
  let arguments = (ins StrAttr:$prefix, Variadic<Tile_Value>:$args, BoolAttr:$hex,
                       DenseI32ArrayAttr:$isSigned, OptionalAttr<StrArrayAttr>:$names);
  let assemblyFormat = "$prefix (`,` $args^)? attr-dict (`:` type($args)^)?";
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stops the launch with `message` where the condition is false";
  let description = [{ Example: `tile.assert %c, "index in range" : tensor<8xi1>` }];
  let arguments = (ins Tile_BoolLike:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
  let hasCanonicalizer = 1;
}

include "tile/BlockOps.td"
include "tile/SharedMemoryOps.td"

#endif
