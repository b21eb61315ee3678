// Operations of the `tile` dialect on shared memory: buffers, copies into them, products that read them. Made by the
// passes for GPUs, never by a front end; the end of TileOps.td includes them.
#ifndef SECTILE_LANG_SHAREDMEMORYOPS_TD
#define SECTILE_LANG_SHAREDMEMORYOPS_TD

//===-- buffers -------------------------------------------------------------------------------===//

def Tile_BufferAllocOp : Tile_Op<"buffer_alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "shared memory for stages of a tile";
  let description = [{
    What it holds lives within one run through the innermost block that has all its uses. Those of its views are uses,
    too, and so is the `dot_wait` for a `dot_async` that reads it. Its bytes are its own until the last of them; where
    copies fill it, until an `async_wait 0` behind that (or the program's end). Where it cannot be seen which wait ends
    a product, they are its own throughout the program. A stage may be filled again when all reads of it are done, in
    all threads. `of_block`: there is one for all teams (`tile.team_id`), and its bytes are never anything else's.
    Example: `%b = tile.buffer_alloc : !tile.buffer<3, [128, 64], f16, #shared>`
  }];
  let arguments = (ins UnitAttr:$ofBlock);
  let results = (outs Tile_Buffer:$result);
  let assemblyFormat = "(`of_block` $ofBlock^)? attr-dict `:` type($result)";
}

def Tile_AsyncCopyOp : Tile_Op<"async_copy", [MemoryEffects<[MemRead, MemWrite]>,
                                              Tile_MaskMatches<3>]> {
  let summary = "starts copying elements from global memory into a stage of a buffer";
  let description = [{
    The pointers are a tile of the buffer's shape and element type. Where `mask` is false the buffer gets zeros.
    `width` elements along `axis`, a power of two that divides the extent, are neighbours in memory, in one thread,
    all under one mask, and aligned to their number; if `partial`, the mask may be on for the first of them and off
    for the rest. The copy joins the group that the next `async_commit` ends.
    Example:
    ```mlir
    tile.async_copy %p, %b[%stage], %m {axis = 1 : i32, width = 8 : i32}
        : tensor<128x64x!tile.ptr<f16>, #l>, !tile.buffer<...>
    ```
  }];
  let arguments = (ins RankedTensorOf<[Tile_Ptr]>:$ptr, Tile_Buffer:$buffer, I32:$stage,
                       Optional<RankedTensorOf<[I1]>>:$mask, I32Attr:$axis, I32Attr:$width,
                       UnitAttr:$partial);
  let assemblyFormat = [{
    $ptr `,` $buffer `[` $stage `]` (`,` $mask^)? (`partial` $partial^)? attr-dict `:` type($ptr) `,` type($buffer)
  }];
  let hasVerifier = 1;
}

def Tile_AsyncCommitOp : Tile_Op<"async_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "ends a group of asynchronous copies";
  let description = [{ Example: `tile.async_commit` }];
  let assemblyFormat = "attr-dict";
}

def Tile_AsyncWaitOp : Tile_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` groups of this thread's copies are under way";
  let description = [{ Example: `tile.async_wait 2` }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Tile_BufferLoadOp : Tile_Op<"buffer_load", [MemoryEffects<[MemRead]>]> {
  let summary = "reads a tile from a stage of a buffer";
  let description = [{
    The result is all of the stage, in any layout.
    Example: `%x = tile.buffer_load %b[%stage] : !tile.buffer<...> -> tensor<128x64xf16, #l>`
  }];
  let arguments = (ins Tile_Buffer:$buffer, I32:$stage);
  let results = (outs RankedTensorOf<[Tile_Number]>:$result);
  let assemblyFormat = "$buffer `[` $stage `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_BufferStoreOp : Tile_Op<"buffer_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile into a stage of a buffer";
  let description = [{
    The tile is all of the stage, and has any layout. Other threads see it behind a barrier, products that read the
    buffer themselves behind a `proxy_fence` and a barrier.
    Example: `tile.buffer_store %x, %b[%stage] : tensor<128x64xf16, #l>, !tile.buffer<...>`
  }];
  let arguments = (ins RankedTensorOf<[Tile_Number]>:$value, Tile_Buffer:$buffer, I32:$stage);
  let assemblyFormat = "$value `,` $buffer `[` $stage `]` attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}

def Tile_ScheduleBarrierOp : Tile_Op<"schedule_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what stands before it starts before what stands behind it";
  let description = [{
    Code generation moves no instruction across it. Loads that run ahead stand before one: schedulers of registers
    would put them where they are used. It orders no memory, and threads do not meet. Example: `tile.schedule_barrier`
  }];
  let assemblyFormat = "attr-dict";
}

//===-- copies by an engine -------------------------------------------------------------------===//

def Tile_TensorMapOp : Tile_Op<"tensor_map", [Pure, AttrSizedOperandSegments]> {
  let summary = "an array, described for the copy engine";
  let description = [{
    Where `base` is an argument of the kernel, and `shape` and `strides` follow from its arguments by sums and products
    alone, the host makes the map when the kernel is launched. Any other one becomes an `edited_map` (EditMaps).
    Neighbours along the last axis lie one element apart. `turn`: of a map that the program makes again and again, how
    often it has before.
    Example: `%map = tile.tensor_map %p of [%m, %n] by [%s, %one] : !tile.ptr<f16> -> !tile.tensor_map<[64, 64], f16, 128>`
  }];
  let arguments = (ins Tile_Ptr:$base, Variadic<I64>:$shape, Variadic<I64>:$strides, Optional<I32>:$turn);
  let results = (outs Tile_TensorMap:$result);
  let assemblyFormat = [{
    $base `of` `[` $shape `]` `by` `[` $strides `]` (`turn` $turn^)? attr-dict `:` type($base) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_MapMemoryOp : Tile_Op<"map_memory", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "takes global memory for the maps that the program edits";
  let description = [{
    No other program has it until a `map_memory_end`. Example: `%memory = tile.map_memory : !tile.map_memory<2>`
  }];
  let results = (outs Tile_MapMemory:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_MapMemoryEndOp : Tile_Op<"map_memory_end", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "gives the memory of maps back";
  let description = [{ All copies by them are done. Example: `tile.map_memory_end %memory : !tile.map_memory<2>` }];
  let arguments = (ins Tile_MapMemory:$memory);
  let assemblyFormat = "$memory attr-dict `:` type($memory)";
}

def Tile_EditedMapOp : Tile_Op<"edited_map", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "an array, described for the copy engine by the program itself";
  let description = [{
    The map is number `number` in the memory, and takes the place of the one that was there, whose copies are done;
    copies go by it behind a `map_fence`. With `turn`, which counts how often it has been made, two places from that number
    on take turns, and what is the same each time is written the first time. All that the host checks of its maps is taken for granted: base and strides are multiples of 16 bytes, no stride is
    negative. An array with an extent below 1 reads as zeros.
    Example:
    ```mlir
    %map = tile.edited_map %memory[1], %p of [%m, %n] by [%s, %one]
        : !tile.map_memory<2>, !tile.ptr<f16> -> !tile.tensor_map<[64, 64], f16, 128>
    ```
  }];
  let arguments = (ins Tile_MapMemory:$memory, ConfinedAttr<I32Attr, [IntNonNegative]>:$number, Tile_Ptr:$base,
                       Variadic<I64>:$shape, Variadic<I64>:$strides, Optional<I32>:$turn);
  let results = (outs Tile_TensorMap:$result);
  let assemblyFormat = [{
    $memory `[` $number `]` `,` $base `of` `[` $shape `]` `by` `[` $strides `]` (`turn` $turn^)? attr-dict
    `:` type($memory) `,` type($base) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_MapFenceOp : Tile_Op<"map_fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "copies that are started behind it may go by maps that the program has edited";
  let description = [{ Example: `tile.map_fence %a, %b : !tile.tensor_map<[64, 64], f16, 128>, !tile.tensor_map<...>` }];
  let arguments = (ins Variadic<Tile_TensorMap>:$maps);
  let assemblyFormat = "$maps attr-dict `:` type($maps)";
}

def Tile_MBarrierAllocOp : Tile_Op<"mbarrier_alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "shared memory for memory barriers";
  let description = [{
    They live from an `mbarrier_init` to the `mbarrier_end` behind it. `of_block`: all teams have the same
    (`tile.team_id`), and nothing need end them. Example: `%full = tile.mbarrier_alloc : !tile.mbarriers<4>`
  }];
  let arguments = (ins UnitAttr:$ofBlock);
  let results = (outs Tile_MBarriers:$result);
  let assemblyFormat = "(`of_block` $ofBlock^)? attr-dict `:` type($result)";
}

class Tile_MBarrierOp<string mnemonic> : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]>;

def Tile_MBarrierInitOp : Tile_MBarrierOp<"mbarrier_init"> {
  let summary = "makes memory barriers, each at the beginning of its first phase";
  let description = [{
    Each phase ends when one thread has announced bytes and these have arrived, or where there are `arrivals`, when so
    many warps have arrived. Threads and the copy engine see the barriers behind a `proxy_fence` and a barrier of the
    threads.
    Examples: `tile.mbarrier_init %full : !tile.mbarriers<4>`, `tile.mbarrier_init %over arrivals = 8 : !tile.mbarriers<4>`
  }];
  let arguments = (ins Tile_MBarriers:$barriers, OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$arrivals);
  let assemblyFormat = "$barriers (`arrivals` `=` $arrivals^)? attr-dict `:` type($barriers)";
  let builders = [OpBuilder<(ins "::mlir::Value":$barriers)>];
}

def Tile_MBarrierEndOp : Tile_MBarrierOp<"mbarrier_end"> {
  let summary = "ends the life of memory barriers that no thread waits for any more";
  let arguments = (ins Tile_MBarriers:$barriers);
  let assemblyFormat = "$barriers attr-dict `:` type($barriers)";
}

def Tile_MBarrierExpectOp : Tile_MBarrierOp<"mbarrier_expect"> {
  let summary = "announces how many bytes this phase of a memory barrier is to wait for";
  let description = [{
    Nothing happens where `exists` is false. Example: `tile.mbarrier_expect %full[%stage], 32768 if %exists : !tile.mbarriers<4>`
  }];
  let arguments = (ins Tile_MBarriers:$barriers, I32:$stage, ConfinedAttr<I64Attr, [IntPositive]>:$bytes, I1:$exists);
  let assemblyFormat = "$barriers `[` $stage `]` `,` $bytes `if` $exists attr-dict `:` type($barriers)";
}

def Tile_MBarrierArriveOp : Tile_MBarrierOp<"mbarrier_arrive"> {
  let summary = "each warp arrives at a memory barrier, without waiting";
  let description = [{
    What a warp's products have read, when it has waited for them, is behind the phase that its arrival ends.
    Nothing happens where `exists` is false.
    Examples: `tile.mbarrier_arrive %over[%stage] : !tile.mbarriers<4>`,
    `tile.mbarrier_arrive %over[%stage] if %exists : !tile.mbarriers<4>`
  }];
  let arguments = (ins Tile_MBarriers:$barriers, I32:$stage, Optional<I1>:$exists);
  let assemblyFormat = "$barriers `[` $stage `]` (`if` $exists^)? attr-dict `:` type($barriers)";
}

def Tile_MBarrierWaitOp : Tile_MBarrierOp<"mbarrier_wait"> {
  let summary = "waits for the end of a phase of a memory barrier";
  let description = [{
    `parity` is that of the phase's number, which counts from 0. What the phase waited for is then seen by this thread,
    and by products that it starts. Only the warp that starts copies waits where it is so said.
    Examples: `tile.mbarrier_wait %full[%stage], %parity : !tile.mbarriers<4>`,
    `tile.mbarrier_wait %over[%stage], %parity of_copies : !tile.mbarriers<4>`
  }];
  let arguments = (ins Tile_MBarriers:$barriers, I32:$stage, I32:$parity, UnitAttr:$of_copies);
  let assemblyFormat = "$barriers `[` $stage `]` `,` $parity (`of_copies` $of_copies^)? attr-dict `:` type($barriers)";
}

def Tile_ProducerOp : Tile_Op<"producer", [RecursiveMemoryEffects, NoTerminator, SingleBlock,
                                           NoRegionArguments]> {
  let summary = "a thread beside the program starts its copies";
  let description = [{
    The block has a group of four warps more, of which one thread runs the region, beside what stands behind the
    operation, and ends; the group leaves the program, or programs (`tile.teams`), most of its registers. All threads of
    the block meet here. A kernel has one at most, not within other operations. The region takes arguments, buffers, memory
    barriers and maps of the function, and computes the rest itself; in it are numbers, also loaded ones, loops, memory
    barriers, copies of the engine and maps that it edits for them. A thread of a program wants so many 32-bit `words`
    of registers.
    Example:
    ```mlir
    tile.producer words = 176 {
      scf.for %i = %c0 to %n step %c1 : i32 {
        tile.mbarrier_wait %over[%s], %parity : !tile.mbarriers<3>
        tile.mbarrier_expect %full[%s], 8192 if %true : !tile.mbarriers<3>
        tile.tensor_copy ...
      }
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$words);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`words` `=` $words $body attr-dict";
  let hasRegionVerifier = 1;
}

def Tile_TensorCopyOp : Tile_Op<"tensor_copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts copying a block of an array into a stage of a buffer";
  let description = [{
    All of the stage, in boxes of the map's extents; what is outside the array is zero. The stage's axes `order` are the
    last dimensions of map and offsets, in that order; boxes have extent one along all before. A memory barrier, of which
    there may be more than stages, knows when the bytes have arrived, which an `mbarrier_expect` announces. Nothing
    happens where `exists` is false.
    Example:
    ```mlir
    tile.tensor_copy %map[%i, %j], %b[%stage], %full[%number] order = [0, 1] if %exists
        : !tile.tensor_map<[64, 64], f16, 128>, !tile.buffer<...>, !tile.mbarriers<4>
    ```
  }];
  let arguments = (ins Tile_TensorMap:$map, Variadic<I32>:$offsets, Tile_Buffer:$buffer, I32:$stage,
                       Tile_MBarriers:$barriers, I32:$number, I1:$exists, DenseI32ArrayAttr:$order);
  let assemblyFormat = [{
    $map `[` $offsets `]` `,` $buffer `[` $stage `]` `,` $barriers `[` $number `]` `order` `=` $order `if` $exists attr-dict
    `:` type($map) `,` type($buffer) `,` type($barriers)
  }];
  let hasVerifier = 1;
}

def Tile_TensorStoreOp : Tile_Op<"tensor_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts copying a stage of a buffer to a block of an array";
  let description = [{
    All of the stage, in boxes of the map's extents; what is outside the array is not written. Offsets and `order` are
    those of `tensor_copy`. The engine reads what threads have stored there behind a `proxy_fence` of theirs and a
    barrier; the stage must stay as it is until a `tensor_store_wait`.
    Example:
    ```mlir
    tile.tensor_store %b[%stage], %map[%i, %j] order = [0, 1] : !tile.buffer<...>, !tile.tensor_map<[64, 64], f16, 128>
    ```
  }];
  let arguments = (ins Tile_Buffer:$buffer, I32:$stage, Tile_TensorMap:$map, Variadic<I32>:$offsets,
                       DenseI32ArrayAttr:$order);
  let assemblyFormat = [{
    $buffer `[` $stage `]` `,` $map `[` $offsets `]` `order` `=` $order attr-dict `:` type($buffer) `,` type($map)
  }];
  let hasVerifier = 1;
}

def Tile_TensorStoreWaitOp : Tile_Op<"tensor_store_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until the copy engine has read the buffers of tensor stores";
  let description = [{
    Of all that have been started, or of all but the last `pending`. Only the thread that has started them waits: others
    learn of it at a barrier. With `written`, what they write is in memory too, in front of what tensor stores behind
    write. Examples: `tile.tensor_store_wait written`, `tile.tensor_store_wait but 1`
  }];
  let arguments = (ins UnitAttr:$written, OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$pending);
  let assemblyFormat = "(`written` $written^)? (`but` $pending^)? attr-dict";
}

//===-- values in shared memory ---------------------------------------------------------------===//

def Tile_ToBufferOp : Tile_Op<"to_buffer", [Pure]> {
  let summary = "a tile, in shared memory";
  let description = [{
    The result is a buffer of one stage that holds the tile for as long as a product reads it. A later pass says where
    it lies: `pipeline-loops` puts a view of a stage of its own in its place where the tile is loaded in a loop and
    copied ahead, and `fill-buffers` allocates a buffer and stores the tile in all other cases.
    Example: `%b = tile.to_buffer %x : tensor<128x64xf16, #l> -> !tile.buffer<1, [128, 64], f16, #shared>`
  }];
  let arguments = (ins RankedTensorOf<[Tile_Number]>:$value);
  let results = (outs Tile_Buffer:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_BufferViewOp : Tile_Op<"buffer_view", [Pure]> {
  let summary = "a stage of a buffer, with its axes in this or another order";
  let description = [{
    The result is the same bytes; none moves. Its axis i is axis `order[i]` of the stage, as its layout says, too. A
    buffer of one stage needs no number. A read of the view is a read of the buffer.
    Example:
    ```mlir
    %s = tile.buffer_view %b[%stage] order = [1, 0]
        : !tile.buffer<3, [64, 128], f16, #a> -> !tile.buffer<1, [128, 64], f16, #b>
    ```
  }];
  let arguments = (ins Tile_Buffer:$buffer, Optional<I32>:$stage, DenseI32ArrayAttr:$order);
  let results = (outs Tile_Buffer:$result);
  let assemblyFormat = [{
    $buffer (`[` $stage^ `]`)? `order` `=` $order attr-dict `:` type($buffer) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===-- products of several warps -------------------------------------------------------------===//

def Tile_DotAsyncOp : Tile_Op<"dot_async", [MemoryEffects<[MemRead, MemWrite]>,
                                            AllTypesMatch<["acc", "result"]>]> {
  let summary = "starts acc + lhs * rhs by an instruction that several warps carry out together";
  let description = [{
    The matrices are those of `tile.dot`. An operand in a buffer of one stage is read where it lies; one in registers
    has the instruction's layout. The product is done behind a `dot_wait` that leaves no more products under way than
    have been started after it: until then no thread may fill the buffer anew, and the result may only be another
    `dot_async`'s accumulator, be carried by a loop, or be given to such a wait. One that is `delayable` may run a round
    of its loop later, one that is `lasting` may still be under way in the next round: the buffers that it reads hold
    their bytes so long. With `depth = [from, to]` it multiplies no more than columns `from` to `to`, exclusive, of lhs
    by as many rows of rhs.
    Example:
    ```mlir
    %d = tile.dot_async %a, %b, %c instruction = "wgmma.m64n256k16.f32.f16.f16"
        : !tile.buffer<...> * !tile.buffer<...> -> tensor<128x256xf32, #acc>
    ```
  }];
  let arguments = (ins AnyTypeOf<[RankedTensorOf<[Tile_Number]>, Tile_Buffer]>:$lhs, Tile_Buffer:$rhs,
                       RankedTensorOf<[Tile_Number]>:$acc, StrAttr:$instruction, UnitAttr:$delayable,
                       UnitAttr:$lasting, OptionalAttr<DenseI32ArrayAttr>:$depth);
  let results = (outs RankedTensorOf<[Tile_Number]>:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc `instruction` `=` $instruction (`delayable` $delayable^)? (`lasting` $lasting^)?
    (`depth` `=` $depth^)? attr-dict `:` type($lhs) `*` type($rhs) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Returns the columns of lhs that it multiplies, from the first to behind the last.
    std::pair<int64_t, int64_t> depthRange();
  }];
  let hasVerifier = 1;
}

def Tile_DotWaitOp : Tile_Op<"dot_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` of the thread's `dot_async` are under way";
  let description = [{
    The results are those of products that are then done, for any operation to use; buffers and registers that only
    these products read are free in this thread. Where it is `pinned`, what stands in front of it is computed before the
    wait: an assembler that sees no use of it there would wait first.
    Example: `%r = tile.dot_wait 0, %d : (tensor<128x256xf32, #acc>) -> tensor<128x256xf32, #acc>`,
    `tile.dot_wait 1 : () -> ()`
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$pending, UnitAttr:$pinned,
                       Variadic<RankedTensorOf<[Tile_Number]>>:$values);
  let results = (outs Variadic<RankedTensorOf<[Tile_Number]>>:$results);
  let assemblyFormat = [{
    $pending (`pinned` $pinned^)? (`,` $values^)? attr-dict `:` functional-type($values, $results)
  }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::IntegerAttr":$pending,
                                 "::mlir::ValueRange":$values)>];
  let hasVerifier = 1;
}

def Tile_ProxyFenceOp : Tile_Op<"proxy_fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "lets products and the copy engine see what the thread has done in shared memory";
  let description = [{
    Products of other threads see what it has stored behind a barrier that follows, and copies into the same bytes come
    later there. Copies by `async_copy` count as stores of the thread that has waited for them; those by `tensor_copy`
    need no fence. With `global`, copies that are started behind the barrier see what it has stored in global memory,
    too. Examples: `tile.proxy_fence`, `tile.proxy_fence global`
  }];
  let arguments = (ins UnitAttr:$global);
  let assemblyFormat = "(`global` $global^)? attr-dict";
}

#endif
