// The functions of sectile/c.h: what they do, what they refuse, and several threads at once.
#include "../Together.h"
#include "Archives.h"
#include "gtest/gtest.h"

#include <atomic>
#include <sectile/c.h>
#include <sys/wait.h>

using namespace sectile::jit;
using namespace sectile::jit::test;

namespace {

struct alignas(64) Memory {
  int64_t out[4] = {}, x[4] = {};
};

std::string addArchive() {
  Memory memory;
  std::string problem;
  return writeArchive({addEntry()},
                      {addVariant(addValues(memory.out, memory.x + 1, 3, "a"), 5),
                       addVariant(addValues(memory.out, memory.x + 1, 16, "a"), 7)},
                      problem);
}

class CApi : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(sectile_open_memory(bytes.data(), bytes.size(), "nn", &archive), SECTILE_OK)
        << sectile_error_text();
    add = sectile_find(archive, "add");
    ASSERT_TRUE(add);
  }
  void TearDown() override { sectile_close(archive); }

  sectile_status launch(int64_t n, const char *mode = "a") {
    sectile_arg args[] = {sectile_pointer(SECTILE_I64, memory.out),
                          sectile_pointer(SECTILE_I64, memory.x + 1), sectile_integer(n),
                          sectile_text(mode)};
    return sectile_launch(add, sectile_cpu(), nullptr, &grid, args, 4);
  }

  const std::string bytes = addArchive();
  sectile_archive *archive = nullptr;
  const sectile_kernel *add = nullptr;
  Memory memory;
  sectile_grid grid = sectile_grid_of(2, 1, 1);
};

TEST_F(CApi, launches) {
  ASSERT_EQ(launch(3), SECTILE_OK) << sectile_error_text();
  EXPECT_EQ(memory.out[1], 5);
  ASSERT_EQ(launch(32), SECTILE_OK) << sectile_error_text();
  EXPECT_EQ(memory.out[1], 12);
  grid.x = 0;
  ASSERT_EQ(launch(3), SECTILE_OK);
  EXPECT_EQ(memory.out[1], 12);
}

TEST_F(CApi, bound_launches_run_again) {
  sectile_arg args[] = {sectile_pointer(SECTILE_I64, memory.out),
                        sectile_pointer(SECTILE_I64, memory.x + 1), sectile_integer(3),
                        sectile_text("a")};
  sectile_bound *bound = nullptr;
  ASSERT_EQ(sectile_bind(add, sectile_cpu(), nullptr, &grid, args, 4, &bound), SECTILE_OK);
  EXPECT_EQ(memory.out[0], 0);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(sectile_run(bound), SECTILE_OK);
  EXPECT_EQ(memory.out[0], 15);
  sectile_close(archive);
  EXPECT_EQ(sectile_run(bound), SECTILE_ERROR_CLOSED);
  sectile_release(bound);
  EXPECT_EQ(memory.out[0], 15);
}

TEST_F(CApi, says_what_is_in_an_archive) {
  EXPECT_EQ(sectile_kernel_count(archive), 1u);
  EXPECT_EQ(sectile_kernel_at(archive, 0), add);
  EXPECT_EQ(sectile_kernel_at(archive, 1), nullptr);
  EXPECT_STREQ(sectile_kernel_name(add), "add");
  ASSERT_EQ(sectile_parameter_count(add), 4u);
  sectile_parameter_info parameter = {};
  parameter.size = sizeof parameter;
  ASSERT_EQ(sectile_get_parameter(add, 3, &parameter), SECTILE_OK);
  EXPECT_STREQ(parameter.name, "MODE");
  EXPECT_TRUE(parameter.is_constant);
  EXPECT_FALSE(parameter.may_be_left_out);
  ASSERT_EQ(sectile_variant_count(add), 2u);
  std::set<std::string> signatures;
  for (size_t i = 0; i < 2; ++i) {
    sectile_variant_info variant = {};
    variant.size = sizeof variant;
    ASSERT_EQ(sectile_get_variant(add, i, &variant), SECTILE_OK);
    EXPECT_STREQ(variant.target, "cpu:x86-64");
    EXPECT_GT(variant.code_bytes, 0u);
    signatures.insert(variant.signature);
  }
  EXPECT_EQ(signatures.size(), 2u);
  EXPECT_TRUE(signatures.contains("out: *i64:16, x: *i64, n: i32, MODE = 'a'"));
}

TEST_F(CApi, fills_in_what_a_caller_of_another_version_has_room_for) {
  struct Older {
    size_t size;
    const char *signature;
    const char *guard;
  } older = {offsetof(Older, guard), nullptr, "guard"};
  ASSERT_EQ(sectile_get_variant(add, 0, reinterpret_cast<sectile_variant_info *>(&older)),
            SECTILE_OK);
  EXPECT_NE(older.signature, nullptr);
  EXPECT_STREQ(older.guard, "guard");
  struct Newer {
    sectile_variant_info known;
    uint64_t more = 7;
  } newer;
  newer.known.size = sizeof newer;
  ASSERT_EQ(sectile_get_variant(add, 0, &newer.known), SECTILE_OK);
  EXPECT_EQ(newer.more, 0u);
}

TEST_F(CApi, wrong_calls_are_errors_with_a_text) {
  auto expect = [](sectile_status status, sectile_status wanted, const std::string &text,
                   int32_t argument = -1) {
    EXPECT_EQ(status, wanted);
    EXPECT_EQ(sectile_error_text(), text);
    EXPECT_EQ(sectile_error_argument(), argument);
  };
  sectile_archive *none = nullptr;
  expect(sectile_open(nullptr, &none), SECTILE_ERROR_CALL, "sectile_open: path is null");
  expect(sectile_open("x", nullptr), SECTILE_ERROR_CALL, "sectile_open: archive is null");
  expect(sectile_open("/no/file", &none), SECTILE_ERROR_MACHINE,
         "archive /no/file: it cannot be opened: No such file or directory");
  EXPECT_EQ(sectile_find(archive, "ad"), nullptr);
  EXPECT_STREQ(sectile_error_text(),
               "archive nn has no kernel 'ad'; did you mean 'add'?\n  help: it has add");
  EXPECT_EQ(sectile_find(nullptr, "add"), nullptr);
  expect(launch(3, "z"), SECTILE_ERROR_CALL,
         "add: nn has no variant for these arguments: MODE: 'z' instead of 'a'\n"
         "  help: export it: out: *i64:16, x: *i64, n: i32, MODE = 'z'",
         3);
  expect(launch(3, nullptr), SECTILE_ERROR_CALL, "add: argument 'MODE': its text is null", 3);
  sectile_arg args[4] = {};
  args[0].kind = 77;
  expect(sectile_launch(add, sectile_cpu(), nullptr, &grid, args, 4), SECTILE_ERROR_CALL,
         "add: argument 'out': its kind is none of SECTILE_ARG_...", 0);
  args[0] = sectile_pointer(99, memory.out);
  expect(sectile_launch(add, sectile_cpu(), nullptr, &grid, args, 4), SECTILE_ERROR_CALL,
         "add: argument 'out': its type is none of sectile_type", 0);
  args[0] = sectile_tuple(-1);
  expect(sectile_launch(add, sectile_cpu(), nullptr, &grid, args, 4), SECTILE_ERROR_CALL,
         "add: argument 'out': a tuple has up to 65536 items", 0);
  args[0] = sectile_tuple(4);
  expect(sectile_launch(add, sectile_cpu(), nullptr, &grid, args, 4), SECTILE_ERROR_CALL,
         "add: argument 'out': of the items of its tuple 1 more should follow it, and there are no "
         "more arguments",
         0);
  // An argument that is refused, before a tuple whose items are not there: no message reads them.
  args[0] = sectile_integer_of(SECTILE_I8, 300);
  args[1] = sectile_tuple(65536);
  EXPECT_EQ(sectile_launch(add, sectile_cpu(), nullptr, &grid, args, 2), SECTILE_ERROR_CALL);
  std::vector<sectile_arg> deep(60000, sectile_tuple(1));
  expect(sectile_launch(add, sectile_cpu(), nullptr, &grid, deep.data(), deep.size()),
         SECTILE_ERROR_CALL, "add: argument 'out': its tuples lie in each other more than 64 deep",
         0);
  args[0] = sectile_pointer(SECTILE_I64, memory.out);
  expect(sectile_launch(add, sectile_cpu(), nullptr, &grid, args, 1), SECTILE_ERROR_CALL,
         "add: takes 4 arguments, got 1");
  expect(sectile_launch(add, sectile_cpu(), nullptr, &grid, nullptr, 1), SECTILE_ERROR_CALL,
         "sectile_launch: args is null");
  expect(sectile_launch(add, {9, 0}, nullptr, &grid, args, 4), SECTILE_ERROR_CALL,
         "sectile_launch: the device's kind is none of SECTILE_CPU, SECTILE_CUDA, SECTILE_HIP");
  expect(sectile_launch(add, {SECTILE_CPU, 1}, nullptr, &grid, args, 4), SECTILE_ERROR_CALL,
         "sectile_launch: there is no device number 1");
  expect(sectile_launch(nullptr, sectile_cpu(), nullptr, &grid, args, 4), SECTILE_ERROR_CALL,
         "sectile_launch: kernel is null");
  expect(sectile_run(nullptr), SECTILE_ERROR_CALL, "sectile_run: bound is null");
  sectile_variant_info info = {};
  expect(sectile_get_variant(add, 0, &info), SECTILE_ERROR_CALL,
         "sectile_get_variant: info->size is not set; it is sizeof of its type");
  expect(sectile_get_variant(add, 2, &info), SECTILE_ERROR_CALL,
         "add: there is no variant number 2");
  sectile_arg many[40];
  for (sectile_arg &each : many)
    each = sectile_integer(2);
  expect(sectile_launch(add, sectile_cpu(), nullptr, &grid, many, 40), SECTILE_ERROR_CALL,
         "add: takes 4 arguments, got 40");
  grid.x = -1;
  expect(launch(3), SECTILE_ERROR_CALL, "add: grid axis x is negative: -1");
  sectile_close(nullptr);
  sectile_release(nullptr);
}

TEST_F(CApi, read_only_arrays_are_not_stored_to) {
  sectile_arg args[] = {sectile_pointer(SECTILE_I64, memory.out),
                        sectile_pointer(SECTILE_I64, memory.x + 1), sectile_integer(3),
                        sectile_text("a")};
  args[0].flags = SECTILE_ARG_READ_ONLY;
  EXPECT_EQ(sectile_launch(add, sectile_cpu(), nullptr, &grid, args, 4), SECTILE_ERROR_CALL);
  EXPECT_EQ(memory.out[0], 0);
  EXPECT_EQ(sectile_error_argument(), 0);
  args[0].flags = 0;
  args[1].flags = SECTILE_ARG_READ_ONLY;
  EXPECT_EQ(sectile_launch(add, sectile_cpu(), nullptr, &grid, args, 4), SECTILE_OK);
}

TEST_F(CApi, a_closed_archive_refuses) {
  sectile_close(archive);
  sectile_close(archive);
  EXPECT_EQ(launch(3), SECTILE_ERROR_CLOSED);
  EXPECT_STREQ(sectile_error_text(), "archive nn has been closed");
  EXPECT_STREQ(sectile_kernel_name(add), "add");
  EXPECT_EQ(sectile_variant_count(add), 0u);
  EXPECT_EQ(memory.out[0], 0);
}

TEST_F(CApi, sixteen_threads_launch_while_one_closes) {
  std::atomic<int> launched = 0, refused = 0;
  std::vector<Memory> memories(16);
  together(17, [&](int thread) {
    if (thread == 16) {
      while (launched < 100)
        std::this_thread::yield();
      sectile_close(archive);
      return;
    }
    Memory &mine = memories[size_t(thread)];
    for (int i = 0;; ++i) {
      sectile_arg args[] = {sectile_pointer(SECTILE_I64, mine.out),
                            sectile_pointer(SECTILE_I64, mine.x + 1),
                            sectile_integer(i % 2 ? 3 : 16), sectile_text("a")};
      sectile_status status = sectile_launch(add, sectile_cpu(), nullptr, &grid, args, 4);
      if (status == SECTILE_ERROR_CLOSED) {
        ++refused;
        return;
      }
      ASSERT_EQ(status, SECTILE_OK) << sectile_error_text();
      ++launched;
    }
  });
  EXPECT_EQ(refused, 16);
}

TEST_F(CApi, several_archives_live_side_by_side) {
  together(8, [&](int) {
    for (int i = 0; i < 20; ++i) {
      sectile_archive *mine = nullptr;
      ASSERT_EQ(sectile_open_memory(bytes.data(), bytes.size(), "mine", &mine), SECTILE_OK);
      Memory own;
      sectile_arg args[] = {sectile_pointer(SECTILE_I64, own.out),
                            sectile_pointer(SECTILE_I64, own.x + 1), sectile_integer(3),
                            sectile_text("a")};
      ASSERT_EQ(sectile_launch(sectile_find(mine, "add"), sectile_cpu(), nullptr, &grid, args, 4),
                SECTILE_OK)
          << sectile_error_text();
      EXPECT_EQ(own.out[0], 5);
      sectile_close(mine);
    }
  });
}

TEST_F(CApi, a_child_of_fork_launches_and_closes) {
  ASSERT_EQ(launch(3), SECTILE_OK);
  pid_t child = ::fork();
  if (child == 0) {
    bool isGood = launch(3) == SECTILE_OK && memory.out[0] == 10 && launch(16) == SECTILE_OK &&
                  memory.out[0] == 17;
    sectile_close(archive);
    ::_exit(isGood && launch(3) == SECTILE_ERROR_CLOSED ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(launch(3), SECTILE_OK);
}

TEST(CApiFacts, versions_names_and_devices) {
  EXPECT_EQ(sectile_abi_version(), SECTILE_ABI_VERSION);
  EXPECT_STRNE(sectile_version(), "");
  EXPECT_STREQ(sectile_status_name(SECTILE_ERROR_TRAP), "trap");
  EXPECT_STREQ(sectile_type_name(SECTILE_BF16), "bf16");
  EXPECT_STREQ(sectile_type_name(0), "");
  int32_t count = 0;
  EXPECT_EQ(sectile_device_count(SECTILE_CPU, &count), SECTILE_OK);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(sectile_device_count(5, &count), SECTILE_ERROR_CALL);
  sectile_device_info info = {};
  info.size = sizeof info;
  EXPECT_EQ(sectile_get_device(sectile_cpu(), &info), SECTILE_OK);
  EXPECT_STREQ(info.name, "CPU");
  static_assert(sizeof(sectile_arg) == 24 && sizeof(sectile_device) == 8 &&
                sizeof(sectile_grid) == 24);
}

} // namespace
