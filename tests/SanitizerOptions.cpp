// What the sanitizers take from the environment otherwise (SECTILE_SANITIZE).
extern "C" {
/// Children of tests start threads, and know those of their parent by name.
__attribute__((visibility("default"))) const char *__tsan_default_options() {
  return "die_after_fork=0:report_thread_leaks=0:second_deadlock_stack=1";
}
__attribute__((visibility("default"))) const char *__asan_default_options() {
  return "detect_stack_use_after_return=1:detect_leaks=1";
}
/// A buffer that a device which failed may still write to is never freed.
__attribute__((visibility("default"))) const char *__lsan_default_suppressions() {
  return "leak:GpuKernel::launchWithRecords\n";
}
__attribute__((visibility("default"))) const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}
}
