#include "TestKernels.h"

#include <vector>

namespace sectile::amdisa {
namespace {

std::string withTail(const std::string &body, unsigned items) {
  return body + R"(
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32 immarg, i32 immarg, i32 immarg, i1 immarg)
declare i32 @llvm.amdgcn.ds.swizzle(i32, i32 immarg)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.exp.f32(float)
attributes #0 = { "amdgpu-flat-work-group-size"=")" +
         std::to_string(items) + "," + std::to_string(items) +
         R"(" "uniform-work-group-size"="true" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!1 = !{!"amdgpu-synchronize-as", !"local"}
)";
}

const char *kBarrier = R"(
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
)";

/// Numbered names for a sequence of instructions.
class Text {
public:
  std::string line(const std::string &right) {
    std::string name = "%t" + std::to_string(count++);
    text += "  " + name + " = " + right + "\n";
    return name;
  }
  void raw(const std::string &line) { text += line; }
  std::string text;

private:
  unsigned count = 0;
};

/// The value of the lane whose number differs by `distance`.
std::string shuffleXor(Text &out, const std::string &value, unsigned distance) {
  std::string bits = out.line("bitcast float " + value + " to i32"), moved;
  if (distance < 4) {
    unsigned control = distance == 1 ? 0xb1 : 0x4e; // quad_perm [1,0,3,2] and [2,3,0,1]
    moved = out.line("call i32 @llvm.amdgcn.update.dpp.i32(i32 " + bits + ", i32 " + bits +
                     ", i32 " + std::to_string(control) + ", i32 15, i32 15, i1 true)");
  } else if (distance < 16) {
    moved = out.line("call i32 @llvm.amdgcn.ds.swizzle(i32 " + bits + ", i32 " +
                     std::to_string(distance << 10 | 31) + ")");
  } else {
    std::string lane = out.line("xor i32 %tid, " + std::to_string(distance));
    std::string address = out.line("shl i32 " + lane + ", 2");
    moved = out.line("call i32 @llvm.amdgcn.ds.bpermute(i32 " + address + ", i32 " + bits + ")");
  }
  return out.line("bitcast i32 " + moved + " to float");
}

std::string combine(Text &out, bool isSum, const std::string &a, const std::string &b) {
  return isSum ? out.line("fadd float " + a + ", " + b)
               : out.line("call float @llvm.maxnum.f32(float " + a + ", float " + b + ")");
}

/// Reduces over a work-group of 256: within waves by shuffles, between them through LDS.
std::string reduceGroup(Text &out, bool isSum, std::string value, unsigned lanes,
                        const std::string &scratch) {
  for (unsigned distance = 1; distance < lanes; distance *= 2)
    value = combine(out, isSum, value, shuffleXor(out, value, distance));
  std::string wave = out.line("udiv i32 %tid, " + std::to_string(lanes));
  std::string place =
      out.line("getelementptr float, ptr addrspace(3) " + scratch + ", i32 " + wave);
  out.raw("  store float " + value + ", ptr addrspace(3) " + place + "\n");
  out.raw(kBarrier);
  std::string result;
  for (unsigned other = 0; other < 256 / lanes; ++other) {
    std::string from = out.line("getelementptr float, ptr addrspace(3) " + scratch + ", i32 " +
                                std::to_string(other));
    std::string part = out.line("load float, ptr addrspace(3) " + from);
    result = other ? combine(out, isSum, result, part) : part;
  }
  return result;
}

} // namespace

std::string addKernel() {
  return withTail(R"(
define amdgpu_kernel void @kernel(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %out, i32 %n) #0 {
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %group, 256
  %i = add i32 %base, %tid
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %end
body:
  %px = getelementptr float, ptr addrspace(1) %x, i32 %i
  %py = getelementptr float, ptr addrspace(1) %y, i32 %i
  %po = getelementptr float, ptr addrspace(1) %out, i32 %i
  %a = load float, ptr addrspace(1) %px
  %b = load float, ptr addrspace(1) %py
  %sum = fadd float %a, %b
  store float %sum, ptr addrspace(1) %po
  br label %end
end:
  ret void
}
)",
                  256);
}

std::string softmaxKernel(unsigned lanes) {
  Text out;
  out.raw(R"(
@maxima = internal addrspace(3) global [8 x float] poison, align 16
@sums = internal addrspace(3) global [8 x float] poison, align 16
define amdgpu_kernel void @kernel(ptr addrspace(1) noalias readonly %x, ptr addrspace(1) noalias %out, ptr addrspace(1) noalias %tops) #0 {
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %group, 256
  %i = add i32 %base, %tid
  %px = getelementptr float, ptr addrspace(1) %x, i32 %i
  %pt = getelementptr float, ptr addrspace(1) %tops, i32 %i
  %po = getelementptr float, ptr addrspace(1) %out, i32 %i
  %value = load float, ptr addrspace(1) %px
)");
  std::string maximum = reduceGroup(out, false, "%value", lanes, "@maxima");
  std::string shifted = out.line("fsub float %value, " + maximum);
  std::string power = out.line("call float @llvm.exp.f32(float " + shifted + ")");
  std::string sum = reduceGroup(out, true, power, lanes, "@sums");
  std::string result = out.line("fdiv float " + power + ", " + sum);
  out.raw("  store float " + maximum + ", ptr addrspace(1) %pt\n");
  out.raw("  store float " + result + ", ptr addrspace(1) %po\n  ret void\n}\n");
  return withTail(out.text, 256);
}

std::string transposeKernel() {
  return withTail(R"(
@tile = internal addrspace(3) global [272 x i32] poison, align 16
define amdgpu_kernel void @kernel(ptr addrspace(1) %x, ptr addrspace(1) %out, i32 %columns) #0 {
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %row = lshr i32 %tid, 4
  %column = and i32 %tid, 15
  %from0 = mul i32 %row, %columns
  %from1 = add i32 %from0, %column
  %shift = mul i32 %group, 16
  %from = add i32 %from1, %shift
  %px = getelementptr i32, ptr addrspace(1) %x, i32 %from
  %value = load i32, ptr addrspace(1) %px
  %in0 = mul i32 %row, 17
  %in = add i32 %in0, %column
  %pin = getelementptr i32, ptr addrspace(3) @tile, i32 %in
  store i32 %value, ptr addrspace(3) %pin
)" + std::string(kBarrier) +
                      R"(
  %out0 = mul i32 %column, 17
  %outi = add i32 %out0, %row
  %pout = getelementptr i32, ptr addrspace(3) @tile, i32 %outi
  %moved = load i32, ptr addrspace(3) %pout
  %to0 = mul i32 %group, 256
  %to = add i32 %to0, %tid
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %to
  store i32 %moved, ptr addrspace(1) %po
  ret void
}
)",
                  256);
}

std::string loopKernel() {
  return withTail(R"(
define amdgpu_kernel void @kernel(ptr addrspace(1) %x, ptr addrspace(1) %out, i32 %n) #0 {
entry:
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %start = mul i32 %tid, 7
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %loop, label %end
loop:
  %j = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %added, %loop ]
  %step = mul i32 %j, 5
  %far = add i32 %start, %step
  %index = and i32 %far, 1023
  %p = getelementptr float, ptr addrspace(1) %x, i32 %index
  %value = load float, ptr addrspace(1) %p
  %wide = fpext float %value to double
  %next = add i32 %j, 1
  %divisor = uitofp i32 %next to double
  %part = fdiv double %wide, %divisor
  %added = fadd double %sum, %part
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  %result = phi double [ 0.0, %entry ], [ %added, %loop ]
  %po = getelementptr double, ptr addrspace(1) %out, i32 %tid
  store double %result, ptr addrspace(1) %po
  ret void
}
)",
                  256);
}

std::string histogramKernel() {
  return withTail(R"(
@bins = internal addrspace(3) global [256 x i32] poison, align 16
define amdgpu_kernel void @kernel(ptr addrspace(1) %bytes, ptr addrspace(1) %counters, ptr addrspace(1) %total, i32 %n) #0 {
entry:
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %bin = getelementptr i32, ptr addrspace(3) @bins, i32 %tid
  store i32 0, ptr addrspace(3) %bin
)" + std::string(kBarrier) +
                      R"(
  %base = mul i32 %group, 256
  %i = add i32 %base, %tid
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %end
body:
  %p = getelementptr i8, ptr addrspace(1) %bytes, i32 %i
  %byte = load i8, ptr addrspace(1) %p
  %index = zext i8 %byte to i32
  %counter = getelementptr i32, ptr addrspace(3) @bins, i32 %index
  %old = atomicrmw add ptr addrspace(3) %counter, i32 1 syncscope("workgroup") monotonic
  %number = uitofp i8 %byte to float
  %f = atomicrmw fadd ptr addrspace(1) %total, float %number syncscope("agent") monotonic, !amdgpu.no.fine.grained.memory !2, !amdgpu.ignore.denormal.mode !2
  br label %end
end:
)" + kBarrier + R"(
  %count = load i32, ptr addrspace(3) %bin
  %target = getelementptr i32, ptr addrspace(1) %counters, i32 %tid
  %g = atomicrmw add ptr addrspace(1) %target, i32 %count syncscope("agent") monotonic
  ret void
}
!2 = !{}
)",
                  256);
}

std::string abiKernel() {
  return R"(
@local = internal addrspace(3) global [128 x i32] poison, align 16
define amdgpu_kernel void @kernel(ptr addrspace(1) inreg %out, i32 inreg %k, ptr addrspace(1) %more) #0 {
entry:
  %table = alloca [16 x i32], align 4, addrspace(5)
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %z = call i32 @llvm.amdgcn.workitem.id.z()
  %gx = call i32 @llvm.amdgcn.workgroup.id.x()
  %gy = call i32 @llvm.amdgcn.workgroup.id.y()
  %gz = call i32 @llvm.amdgcn.workgroup.id.z()
  %hidden = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %blocks = load i32, ptr addrspace(4) %hidden, align 4
  %blocksy0 = getelementptr i32, ptr addrspace(4) %hidden, i32 1
  %blocksy = load i32, ptr addrspace(4) %blocksy0, align 4
  br label %fill
fill:
  %i = phi i32 [ 0, %entry ], [ %next, %fill ]
  %place = getelementptr i32, ptr addrspace(5) %table, i32 %i
  %number = mul i32 %i, %k
  store volatile i32 %number, ptr addrspace(5) %place
  %next = add i32 %i, 1
  %isMore = icmp ult i32 %next, 16
  br i1 %isMore, label %fill, label %body
body:
  %y8 = mul i32 %y, 8
  %z32 = mul i32 %z, 32
  %xy = add i32 %x, %y8
  %item = add i32 %xy, %z32
  %mod = and i32 %item, 15
  %mine = getelementptr i32, ptr addrspace(5) %table, i32 %mod
  %product = load volatile i32, ptr addrspace(5) %mine
  %localp = getelementptr i32, ptr addrspace(3) @local, i32 %item
  store i32 %item, ptr addrspace(3) %localp
  %globalp = getelementptr i32, ptr addrspace(1) %more, i32 %item
  %generic1 = addrspacecast ptr addrspace(3) %localp to ptr
  %generic2 = addrspacecast ptr addrspace(1) %globalp to ptr
  %odd = and i32 %item, 1
  %isOdd = icmp eq i32 %odd, 1
  %generic = select i1 %isOdd, ptr %generic1, ptr %generic2
  %taken = load i32, ptr %generic
  %a = mul i32 %gz, 1000000
  %b = mul i32 %gy, 100000
  %c = mul i32 %gx, 10000
  %d = mul i32 %z, 1000
  %e = mul i32 %y, 100
  %f = mul i32 %x, 10
  %s0 = add i32 %a, %b
  %s1 = add i32 %s0, %c
  %s2 = add i32 %s1, %d
  %s3 = add i32 %s2, %e
  %s4 = add i32 %s3, %f
  %s5 = add i32 %s4, %blocks
  %s6 = add i32 %s5, %product
  %s7 = add i32 %s6, %taken
  %g0 = mul i32 %gz, %blocksy
  %g1 = add i32 %g0, %gy
  %g2 = mul i32 %g1, %blocks
  %g3 = add i32 %g2, %gx
  %g4 = mul i32 %g3, 128
  %index = add i32 %g4, %item
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %index
  store i32 %s7, ptr addrspace(1) %po
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workitem.id.z()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
attributes #0 = { "amdgpu-flat-work-group-size"="128,128" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
)";
}

std::string handOverKernel() {
  return withTail(R"(
define amdgpu_kernel void @kernel(ptr addrspace(1) %exchanged, ptr addrspace(1) %out) #0 {
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %mine = getelementptr i32, ptr addrspace(1) %exchanged, i32 %tid
  %value = mul i32 %tid, 3
  store i32 %value, ptr addrspace(1) %mine
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %other = sub i32 255, %tid
  %theirs = getelementptr i32, ptr addrspace(1) %exchanged, i32 %other
  %taken = load i32, ptr addrspace(1) %theirs
  %result = add i32 %taken, 1
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %result, ptr addrspace(1) %po
  ret void
}
)",
                  256);
}

std::string exchangeKernel() {
  return withTail(R"(
define amdgpu_kernel void @kernel(ptr addrspace(1) %counter, ptr addrspace(1) %wide, ptr addrspace(1) %real) #0 {
entry:
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %start = load i32, ptr addrspace(1) %counter
  br label %again
again:
  %old = phi i32 [ %start, %entry ], [ %seen, %again ]
  %scaled = mul i32 %old, 3
  %new = add i32 %scaled, 1
  %pair = cmpxchg ptr addrspace(1) %counter, i32 %old, i32 %new syncscope("agent") monotonic monotonic
  %seen = extractvalue { i32, i1 } %pair, 0
  %done = extractvalue { i32, i1 } %pair, 1
  br i1 %done, label %end, label %again
end:
  %long = zext i32 %tid to i64
  %m = atomicrmw umax ptr addrspace(1) %wide, i64 %long syncscope("agent") monotonic
  %w1 = getelementptr i64, ptr addrspace(1) %wide, i32 1
  %s = atomicrmw add ptr addrspace(1) %w1, i64 %long syncscope("agent") monotonic
  %number = uitofp i32 %tid to double
  %f = atomicrmw fadd ptr addrspace(1) %real, double %number syncscope("agent") monotonic
  %r1 = getelementptr double, ptr addrspace(1) %real, i32 1
  %negative = fneg double %number
  %g = atomicrmw fmin ptr addrspace(1) %r1, double %negative syncscope("agent") monotonic
  ret void
}
)",
                  256);
}

std::string matrixKernel(const ChipUnderTest &chip) {
  // Row or column, and where the lane's elements of k begin; steps of k in which it has neighbours.
  bool isMfma = chip.lanes == 64, isGfx12 = std::string(chip.name) == "gfx1201";
  unsigned rows = isMfma ? 32 : 16, elements = isMfma ? 4 : isGfx12 ? 8 : 16, k = isMfma ? 8 : 16;
  unsigned sums = isMfma ? 16 : 8;
  std::string half = "<" + std::to_string(elements) + " x half>";
  std::string sum = "<" + std::to_string(sums) + " x float>";
  std::string name = isMfma ? "@llvm.amdgcn.mfma.f32.32x32x8f16"
                            : "@llvm.amdgcn.wmma.f32.16x16x16.f16.v" + std::to_string(sums) +
                                  "f32.v" + std::to_string(elements) + "f16";
  std::string tail = isMfma ? ", i32 0, i32 0, i32 0" : "";
  std::string tailTypes = isMfma ? ", i32 immarg, i32 immarg, i32 immarg" : "";
  std::string call = "call " + sum + " " + name + "(" + half + " %a, " + half + " %b, " + sum +
                     " %old" + tail + ")";
  // gfx1201's documented order of k: 0-3 and 8-11 in the lower lanes, 4-7 and 12-15 in the upper
  // ones. The same permutation of a and b would hide a wrong one, so the loads follow the
  // documentation.
  std::string load;
  for (const char *operand : {"a", "b"}) {
    std::string o = operand;
    load += "  %p" + o + " = getelementptr half, ptr addrspace(1) %" + o + "s, i32 %at\n";
    if (isGfx12) {
      load += "  %lo" + o + " = load <4 x half>, ptr addrspace(1) %p" + o + ", align 8\n" + "  %q" +
              o + " = getelementptr half, ptr addrspace(1) %p" + o + ", i32 8\n" + "  %hi" + o +
              " = load <4 x half>, ptr addrspace(1) %q" + o + ", align 8\n" + "  %" + o +
              " = shufflevector <4 x half> %lo" + o + ", <4 x half> %hi" + o +
              ", <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>\n";
    } else {
      load += "  %" + o + " = load " + half + ", ptr addrspace(1) %p" + o + ", align 8\n";
    }
  }
  std::string upper = isMfma ? "4" : isGfx12 ? "4" : "0";
  std::string text = R"(
define amdgpu_kernel void @kernel(ptr addrspace(1) noalias readonly %as, ptr addrspace(1) noalias readonly %bs, ptr addrspace(1) noalias %d, i32 %steps) #0 {
entry:
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %row = and i32 %tid, )" +
                     std::to_string(rows - 1) + R"(
  %group = udiv i32 %tid, )" +
                     std::to_string(rows) + R"(
  %stride = mul i32 %steps, )" +
                     std::to_string(k) + R"(
  %start0 = mul i32 %row, %stride
  %start1 = mul i32 %group, )" +
                     upper + R"(
  %start = add i32 %start0, %start1
  br label %loop
loop:
  %step = phi i32 [ 0, %entry ], [ %next, %loop ]
  %old = phi )" + sum +
                     R"( [ zeroinitializer, %entry ], [ %new, %loop ]
  %along = mul i32 %step, )" +
                     std::to_string(k) + R"(
  %at = add i32 %start, %along
)" + load +
                     "  %new = " + call + R"(
  %next = add i32 %step, 1
  %more = icmp slt i32 %next, %steps
  br i1 %more, label %loop, label %end
end:
)";
  for (unsigned element = 0; element < sums; ++element) {
    std::string e = std::to_string(element);
    unsigned base = isMfma ? element % 4 + 8 * (element / 4) : isGfx12 ? element : 2 * element;
    unsigned step = isMfma ? 4 : isGfx12 ? 8 : 1;
    text += "  %s" + e + " = extractelement " + sum + " %new, i32 " + e + "\n  %g" + e +
            " = mul i32 %group, " + std::to_string(step) + "\n  %r" + e + " = add i32 %g" + e +
            ", " + std::to_string(base) + "\n  %l" + e + " = mul i32 %r" + e + ", " +
            std::to_string(rows) + "\n  %i" + e + " = add i32 %l" + e + ", %row\n  %p" + e +
            " = getelementptr float, ptr addrspace(1) %d, i32 %i" + e + "\n  store float %s" + e +
            ", ptr addrspace(1) %p" + e + "\n";
  }
  text += "  ret void\n}\ndeclare " + sum + " " + name + "(" + half + ", " + half + ", " + sum +
          tailTypes + ")\n";
  return withTail(text, chip.lanes);
}

} // namespace sectile::amdisa
