// The `tile` dialect: what a block-level kernel says that `arith`, `math` and `scf` cannot.
#ifndef SECTILE_LANG_TILEDIALECT_TD
#define SECTILE_LANG_TILEDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::sectile::tile";
  let summary = "Block-level kernels: programs, tiles, memory";
  let description = [{
    A kernel is a `func.func` with the unit attribute `tile.kernel`. It is run once per *program* of a
    grid of up to three dimensions. Its values are scalars (`i32`, `f32`, `!tile.ptr<f32>`) and *tiles*:
    `tensor<128x64xf16>`, of any static extents, no power of two needed. A tile has no layout here; how
    its elements are spread over threads, registers or loops is the optimiser's business.

    Integers are signless; signedness lives in the operations (`arith.divsi` / `arith.divui`), as
    everywhere in MLIR. Elementwise arithmetic is `arith` and `math`; control flow is `scf`.

    Function arguments carry what specialisation knows of them: `tile.divisibility = 16 : i64` (of the
    integer, or of the address in bytes), `tile.name = "x"`. Loops carry what the kernel wishes of them:
    `tile.num_stages = 3`. DiscardableAttributes.h lists all such attributes.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  // The patterns rewrite loops that MLIR would fold wrongly: LoopTrips.h.
  let hasCanonicalizer = 1;
  // DiscardableAttributes.h
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect"];
}

class Tile_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Tile_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Tile_PtrType : Tile_Type<"Ptr", "ptr"> {
  let summary = "address of one element in global memory";
  let description = [{
    `!tile.ptr<f32>` is the address of an `f32`; `tensor<128x!tile.ptr<f32>>` is a tile of addresses.
    A boolean in memory is a byte, so no pointer points to `i1`.
  }];
  let parameters = (ins "::mlir::Type":$pointee);
  let assemblyFormat = "`<` $pointee `>`";
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$pointee), [{
    return $_get(pointee.getContext(), pointee);
  }]>];
}

def Tile_Ptr : Type<CPred<"::mlir::isa<::sectile::tile::PtrType>($_self)">, "pointer",
                    "::sectile::tile::PtrType">;

// Element kinds, and "scalar or tile of" them.
def Tile_Number : AnyTypeOf<[AnySignlessInteger, AnyFloat]>;
def Tile_Element : AnyTypeOf<[Tile_Number, Tile_Ptr]>;
def Tile_Tile : RankedTensorOf<[Tile_Element]>;
def Tile_Value : AnyTypeOf<[Tile_Element, Tile_Tile]>;
def Tile_NumberLike : AnyTypeOf<[Tile_Number, RankedTensorOf<[Tile_Number]>]>;
def Tile_IntLike : AnyTypeOf<[AnySignlessInteger, RankedTensorOf<[AnySignlessInteger]>]>;
def Tile_Fp8 : AnyTypeOf<[F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ]>;
def Tile_BoolLike : AnyTypeOf<[I1, RankedTensorOf<[I1]>]>;
def Tile_PtrLike : AnyTypeOf<[Tile_Ptr, RankedTensorOf<[Tile_Ptr]>]>;

//===-- layouts -------------------------------------------------------------------------------===//

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "which register of which thread holds which element of a tile";
  let description = [{
    The encoding of a laid-out tile: `tensor<96x160xf32, #tile.layout<96x160, register = [(0, 1) (0, 2)],
    lane = [...], warp = [...]>>`. See lang/layout/TileLayout.h for the meaning, LayoutText.h for the text.
  }];
  let parameters = (ins AttrParameter<"::sectile::layout::TileLayout", "", "const ::sectile::layout::TileLayout &">:$layout);
  let hasCustomAssemblyFormat = 1;
}

def Tile_AccessAttr : AttrDef<Tile_Dialect, "Access"> {
  let mnemonic = "access";
  let summary = "how many neighbours a thread accesses at once";
  let description = [{
    Of a laid-out tile: `#tile.access<axis = 1, width = 8>`. The width is a power of two. Of the elements along the
    axis, each thread accesses so many that it holds and that follow each other in memory at once, under one mask and
    at an address that is a multiple of their size. Where it is `partial`, the mask may be on for the first of them
    alone, which are then stored one by one: `#tile.access<axis = 1, width = 8, partial = true>`.
    optimizer/gpu/AccessWidth.h decides it.
  }];
  let parameters = (ins "int32_t":$axis, "int64_t":$width, DefaultValuedParameter<"bool", "false">:$partial);
  let builders = [AttrBuilder<(ins "int32_t":$axis, "int64_t":$width), [{
    return $_get($_ctxt, axis, width, /*partial=*/false);
  }]>];
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_SharedLayoutAttr : AttrDef<Tile_Dialect, "SharedLayout"> {
  let mnemonic = "shared_layout";
  let summary = "where in shared memory an element of a buffer lies";
  let description = [{
    `#tile.shared_layout<64x64, offset = [(0, 1) ...], padding = 64 + 8>`. See lang/layout/SharedLayout.h.
  }];
  let parameters = (ins AttrParameter<"::sectile::layout::SharedLayout", "", "const ::sectile::layout::SharedLayout &">:$layout);
  let hasCustomAssemblyFormat = 1;
}

def Tile_BufferType : Tile_Type<"Buffer", "buffer"> {
  let summary = "shared memory for tiles of one shape, one in each stage";
  let description = [{
    A pipeline has several stages, an operand or a view of a stage has one. There is at least one, of numbers of whole
    bytes: `!tile.buffer<3, [128, 64], f16, #tile.shared_layout<...>>`
  }];
  let parameters = (ins "int64_t":$stages, ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$element,
                        "::sectile::tile::SharedLayoutAttr":$layout);
  let assemblyFormat = "`<` $stages `,` `[` $shape `]` `,` $element `,` $layout `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes from one stage to the next: its elements, rounded up to a multiple of 128.
    int64_t getStageBytes() const;
  }];
}

def Tile_Buffer : Type<CPred<"::mlir::isa<::sectile::tile::BufferType>($_self)">, "buffer",
                       "::sectile::tile::BufferType">;

def Tile_BlockType : Tile_Type<"Block", "block"> {
  let summary = "a block of an array of memory";
  let description = [{ Which array, and where in it the block begins: `!tile.block`. Whatever uses it knows how large it is. }];
}

def Tile_TensorMapType : Tile_Type<"TensorMap", "tensor_map"> {
  let summary = "an array of memory, described for a GPU's copy engine";
  let parameters = (ins ArrayRefParameter<"int64_t">:$box, "::mlir::Type":$element, "int64_t":$swizzle);
  let description = [{
    One copy moves a box of these extents. In shared memory its rows lie one after another, and pieces of 16 bytes
    change places within `swizzle` bytes (32, 64 or 128): `!tile.tensor_map<[128, 64], f16, 128>`.
  }];
  let assemblyFormat = "`<` `[` $box `]` `,` $element `,` $swizzle `>`";
}

def Tile_MBarriersType : Tile_Type<"MBarriers", "mbarriers"> {
  let summary = "memory barriers in shared memory, one for each stage";
  let description = [{
    Each knows when the bytes that were announced to it have arrived. That ends a phase, and the next begins:
    `!tile.mbarriers<4>`.
  }];
  let parameters = (ins "int64_t":$stages);
  let assemblyFormat = "`<` $stages `>`";
}

def Tile_MapMemoryType : Tile_Type<"MapMemory", "map_memory"> {
  let summary = "global memory for the tensor maps that a program edits";
  let description = [{ So many maps, which no other program has meanwhile: `!tile.map_memory<2>`. }];
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
}

class Tile_ValueOf<string name, string text>
    : Type<CPred<"::mlir::isa<::sectile::tile::" # name # ">($_self)">, text, "::sectile::tile::" # name>;
def Tile_TensorMap : Tile_ValueOf<"TensorMapType", "tensor map">;
def Tile_MBarriers : Tile_ValueOf<"MBarriersType", "memory barriers">;
def Tile_MapMemory : Tile_ValueOf<"MapMemoryType", "memory for tensor maps">;
def Tile_Block : Tile_ValueOf<"BlockType", "block">,
                 BuildableType<"$_builder.getType<::sectile::tile::BlockType>()">;

//===-- enumerations: spelled in the IR as written here ---------------------------------------===//

class Tile_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::sectile::tile";
}

def Tile_CacheModifier : Tile_Enum<"CacheModifier", "cache levels an access goes through", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"CA", 1, "ca">,
    I32EnumAttrCase<"CG", 2, "cg">, I32EnumAttrCase<"CS", 3, "cs">,
    I32EnumAttrCase<"CV", 4, "cv">, I32EnumAttrCase<"WB", 5, "wb">,
    I32EnumAttrCase<"WT", 6, "wt">]>;

def Tile_EvictionPolicy : Tile_Enum<"EvictionPolicy", "how soon a cache line may go", [
    I32EnumAttrCase<"Normal", 0, "normal">, I32EnumAttrCase<"EvictFirst", 1, "evict_first">,
    I32EnumAttrCase<"EvictLast", 2, "evict_last">]>;

def Tile_Padding : Tile_Enum<"Padding", "what is read outside an array", [
    I32EnumAttrCase<"Zero", 0, "zero">, I32EnumAttrCase<"NaN", 1, "nan">]>;

def Tile_MemorySemantic : Tile_Enum<"MemorySemantic", "ordering of an atomic", [
    I32EnumAttrCase<"Relaxed", 0, "relaxed">, I32EnumAttrCase<"Acquire", 1, "acquire">,
    I32EnumAttrCase<"Release", 2, "release">, I32EnumAttrCase<"AcquireRelease", 3, "acq_rel">]>;

def Tile_MemoryScope : Tile_Enum<"MemoryScope", "who observes that ordering", [
    I32EnumAttrCase<"Block", 0, "cta">, I32EnumAttrCase<"Device", 1, "gpu">,
    I32EnumAttrCase<"System", 2, "sys">]>;

def Tile_RmwKind : Tile_Enum<"RmwKind", "what an atomic does", [
    I32EnumAttrCase<"And", 0, "and">, I32EnumAttrCase<"Or", 1, "or">,
    I32EnumAttrCase<"Xor", 2, "xor">, I32EnumAttrCase<"Add", 3, "add">,
    I32EnumAttrCase<"FAdd", 4, "fadd">, I32EnumAttrCase<"Max", 5, "max">,
    I32EnumAttrCase<"Min", 6, "min">, I32EnumAttrCase<"UMax", 7, "umax">,
    I32EnumAttrCase<"UMin", 8, "umin">, I32EnumAttrCase<"FMax", 9, "fmax">,
    I32EnumAttrCase<"FMin", 10, "fmin">, I32EnumAttrCase<"Exchange", 11, "xchg">]>;

def Tile_InputPrecision : Tile_Enum<"InputPrecision", "how a dot may round its f32 operands", [
    I32EnumAttrCase<"Tf32", 0, "tf32">, I32EnumAttrCase<"Tf32x3", 1, "tf32x3">,
    I32EnumAttrCase<"Ieee", 2, "ieee">, I32EnumAttrCase<"Bf16x3", 3, "bf16x3">,
    I32EnumAttrCase<"Bf16x6", 4, "bf16x6">]>;

#endif
