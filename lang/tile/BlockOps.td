// Operations of the `tile` dialect on blocks of arrays, which tensor descriptors and block pointers of the language
// become; the end of TileOps.td includes them.
#ifndef SECTILE_LANG_BLOCKOPS_TD
#define SECTILE_LANG_BLOCKOPS_TD

// An array of memory, row by row or in any other order, and the block of it that an operation touches. Tensor
// descriptors and block pointers of the language become these; --expand-blocks makes pointers and masks of them.
// The array may have more dimensions than the tile: those come first, and the block has extent one along them
// (--drop-unit-axes; the language's blocks have as many as their arrays).
class Tile_BlockOp<string mnemonic, list<Trait> traits, dag before, dag after> :
    Tile_Op<mnemonic, !listconcat(traits, [AttrSizedOperandSegments])> {
  let arguments = !con(before, (ins Tile_Ptr:$base, Variadic<I64>:$offsets, Variadic<I64>:$shape,
                                Variadic<I64>:$strides, DenseBoolArrayAttr:$checked), after);
  let hasVerifier = 1;
}

def Tile_BlockLoadOp : Tile_BlockOp<"block_load", [MemoryEffects<[MemRead]>], (ins), (ins
    DefaultValuedAttr<Tile_Padding, "::sectile::tile::Padding::Zero">:$padding,
    DefaultValuedAttr<Tile_CacheModifier, "::sectile::tile::CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "::sectile::tile::EvictionPolicy::Normal">:$eviction)> {
  let summary = "reads a block of an array";
  let description = [{
    Element `[i, j]` of the result is element `[offset 0 + i, offset 1 + j]` of an array that begins at `base`, whose
    extents are `shape` and whose neighbours along a dimension lie `strides` elements apart. In the `checked`
    dimensions memory outside the array is not touched, and its elements are the `padding`; in the others the
    block lies within.
    Example:
    ```mlir
    %x = tile.block_load %p[%i, %j] of [%m, %n] by [%s, %one] checked = [true, true] padding = nan
       : !tile.ptr<f32> -> tensor<64x32xf32>
    %y = tile.block_load %p[%head, %i, %j] of [%h, %m, %n] by [%t, %s, %one] checked = [true, true, true]
       : !tile.ptr<f32> -> tensor<64x32xf32>
    ```
  }];
  let results = (outs RankedTensorOf<[Tile_Number]>:$result);
  let assemblyFormat = [{
    $base `[` $offsets `]` `of` `[` $shape `]` `by` `[` $strides `]` `checked` `=` $checked
    oilist(`padding` `=` $padding | `cache` `=` $cache | `evict` `=` $eviction)
    attr-dict `:` type($base) `->` type($result)
  }];
}

def Tile_BlockStoreOp : Tile_BlockOp<"block_store", [MemoryEffects<[MemWrite]>],
    (ins RankedTensorOf<[Tile_Number]>:$value), (ins
    DefaultValuedAttr<Tile_CacheModifier, "::sectile::tile::CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "::sectile::tile::EvictionPolicy::Normal">:$eviction)> {
  let summary = "writes a block of an array";
  let description = [{
    The places are those of `tile.block_load`; elements outside the array are not written.
    Example: `tile.block_store %x, %p[%i] of [%n] by [%one] checked = [true] : tensor<64xf32>, !tile.ptr<f32>`
  }];
  let assemblyFormat = [{
    $value `,` $base `[` $offsets `]` `of` `[` $shape `]` `by` `[` $strides `]` `checked` `=` $checked
    oilist(`cache` `=` $cache | `evict` `=` $eviction) attr-dict `:` type($value) `,` type($base)
  }];
}

def Tile_BlockReduceOp : Tile_BlockOp<"block_reduce", [MemoryEffects<[MemRead, MemWrite]>],
    (ins Tile_RmwKind:$kind, RankedTensorOf<[Tile_Number]>:$value), (ins)> {
  let summary = "atomically combines a block of an array with a tile";
  let description = [{
    The places are those of `tile.block_load`; each element is combined as by a relaxed `tile.atomic_rmw`.
    Example: `tile.block_reduce fadd, %x, %p[%i] of [%n] by [%one] checked = [true] : tensor<64xf32>, !tile.ptr<f32>`
  }];
  let assemblyFormat = [{
    $kind `,` $value `,` $base `[` $offsets `]` `of` `[` $shape `]` `by` `[` $strides `]` `checked` `=` $checked
    attr-dict `:` type($value) `,` type($base)
  }];
}

def Tile_BlockGatherOp : Tile_BlockOp<"block_gather", [MemoryEffects<[MemRead]>],
    (ins RankedTensorOf<[I32]>:$rows), (ins)> {
  let summary = "reads parts of rows of a matrix";
  let description = [{
    Row `i` of the result is row `rows[i]` of the array from column `offset` on; what is outside the array is zero.
    Example: `%x = tile.block_gather %r, %p[%j] of [%m, %n] by [%s, %one] checked = [true, true]
              : tensor<8xi32>, !tile.ptr<f32> -> tensor<8x64xf32>`
  }];
  let results = (outs RankedTensorOf<[Tile_Number]>:$result);
  let assemblyFormat = [{
    $rows `,` $base `[` $offsets `]` `of` `[` $shape `]` `by` `[` $strides `]` `checked` `=` $checked
    attr-dict `:` type($rows) `,` type($base) `->` type($result)
  }];
}

def Tile_BlockScatterOp : Tile_BlockOp<"block_scatter", [MemoryEffects<[MemWrite]>],
    (ins RankedTensorOf<[Tile_Number]>:$value, RankedTensorOf<[I32]>:$rows), (ins)> {
  let summary = "writes parts of rows of a matrix";
  let description = [{
    The places are those of `tile.block_gather`; elements outside the array are not written.
    Example: `tile.block_scatter %x, %r, %p[%j] of [%m, %n] by [%s, %one] checked = [true, true]
              : tensor<8x64xf32>, tensor<8xi32>, !tile.ptr<f32>`
  }];
  let assemblyFormat = [{
    $value `,` $rows `,` $base `[` $offsets `]` `of` `[` $shape `]` `by` `[` $strides `]` `checked` `=` $checked
    attr-dict `:` type($value) `,` type($rows) `,` type($base)
  }];
}

def Tile_BlockAtOp : Tile_Op<"block", [Pure, AttrSizedOperandSegments]> {
  let summary = "where a block of an array begins";
  let description = [{
    The operands are those of `tile.block_load`, without the checks: the block has zeros outside the array. An axis
    that ends nowhere has the extent 2^31 (kEndlessAxis), and the block lies before it. What accesses it has a tile for
    the last dimensions.
    Example: `%b = tile.block %p[%i, %j] of [%m, %n] by [%s, %one] : !tile.ptr<f16>`
  }];
  let arguments = (ins Tile_Ptr:$base, Variadic<I64>:$offsets, Variadic<I64>:$shape, Variadic<I64>:$strides);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = "$base `[` $offsets `]` `of` `[` $shape `]` `by` `[` $strides `]` attr-dict `:` type($base)";
  let hasVerifier = 1;
}

#endif
