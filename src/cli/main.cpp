// SPDX-License-Identifier: Apache-2.0
// The native pellucid binary: `decompile`, `inspect`, `dis` and `dump`, without a Python.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/arguments.h"
#include "cli/inputs.h"
#include "cli/judge.h"
#include "cli/loads.h"
#include "cli/work.h"
#include "pellucid/pellucid.h"

#ifdef _WIN32
#include <io.h>
#define isatty _isatty
#define fileno _fileno
#else
#include <unistd.h>
#endif

namespace pellucid::cli {

namespace {

enum Status { kOk = 0, kError = 1, kUsageError = 2, kUnproven = 3 };

// Prints a message on one line; invisible characters, which names in the input may have, are
// escaped.
void complain(const std::string& name, const std::string& text) {
  std::fprintf(stderr, "pellucid: %s: %s\n", on_one_line(name).c_str(), on_one_line(text).c_str());
}

bool put(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

int cannot_print() {
  std::fputs("pellucid: standard output: cannot be written\n", stderr);
  return kError;
}

// Runs the jobs in several threads and returns the outcomes in order.
class Workers {
 public:
  Workers(const Arguments& arguments, const std::vector<Job>& jobs)
      : arguments_(arguments), jobs_(jobs), done_(jobs.size()) {
    const unsigned wanted =
        arguments.jobs > 0 ? arguments.jobs : std::thread::hardware_concurrency();
    const size_t count = std::min<size_t>(std::max(wanted, 1u), jobs.size());
    for (size_t i = 1; i < count; ++i) threads_.emplace_back([this] { run(); });
    has_threads_ = count > 1;
    if (has_threads_) threads_.emplace_back([this] { run(); });
  }

  ~Workers() {
    next_ = jobs_.size();  // stopping early does not wait for the rest
    for (std::thread& thread : threads_) thread.join();
  }

  Outcome take(size_t i) {
    if (!has_threads_) return work(arguments_, jobs_[i]);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_[i].has_value(); });
    Outcome outcome = std::move(*done_[i]);
    done_[i].reset();
    return outcome;
  }

 private:
  void run() {
    for (size_t i = next_++; i < jobs_.size(); i = next_++) {
      Outcome outcome = work(arguments_, jobs_[i]);
      const std::scoped_lock lock(mutex_);
      done_[i] = std::move(outcome);
      changed_.notify_all();
    }
  }

  const Arguments& arguments_;
  const std::vector<Job>& jobs_;
  std::vector<std::optional<Outcome>> done_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_threads_ = false;
  std::vector<std::thread> threads_;
};

// A progress display, if standard error is a terminal and there are enough jobs.
class Progress {
 public:
  explicit Progress(size_t total) : total_(total), shows_(total >= 10 && isatty(fileno(stderr))) {}
  ~Progress() { clear(); }

  void show(size_t count) {
    if (shows_) std::fprintf(stderr, "\rdecompiling %zu of %zu", count, total_);
  }
  void clear() {
    if (shows_) std::fprintf(stderr, "\r\x1b[K");
  }

 private:
  size_t total_;
  bool shows_;
};

void print_summary(const std::map<std::string, size_t>& counts, size_t total, double seconds) {
  for (const auto& [name, count] : counts) {
    // Rounds down, so that "100 %" means all.
    const size_t permille = 1000 * count / total;
    std::fprintf(stderr, "%12s %7zu %5zu.%zu %%\n", name.c_str(), count, permille / 10,
                 permille % 10);
  }
  std::fprintf(stderr, "%12s %7zu          in %.1f s\n", "total", total, seconds);
}

// Prints the outcome of one job; returns false if standard output is closed.
bool print(const Arguments& arguments, const Job& job, const Outcome& outcome, bool is_alone) {
  if (arguments.as_json) return put(to_json(job, outcome));
  if (!outcome.error.empty()) {
    complain(job.name, outcome.error);
    return true;
  }
  const bool has_text = job.out.empty();
  if (has_text && !put((is_alone ? "" : "# " + job.name + '\n') + outcome.text)) return false;
  for (const std::string& note : outcome.notes) complain(job.name, note);
  for (const std::string& complaint : outcome.complaints) complain(job.name, complaint);
  return true;
}

int run(const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const Jobs all = jobs_of(arguments.inputs, arguments.out, arguments.carves);
  if (!all.usage_error.empty()) {
    std::fprintf(stderr, "pellucid: %s\n", all.usage_error.c_str());
    return kUsageError;
  }
  int status = all.bad.empty() ? kOk : kError;
  for (const BadInput& bad : all.bad) {
    if (!arguments.as_json) {
      complain(bad.name, bad.reason);
    } else if (!put(to_json(bad))) {
      return cannot_print();
    }
  }
  if (all.jobs.empty()) return status;
  std::map<std::string, size_t> counts;
  {
    Workers workers(arguments, all.jobs);
    Progress progress(arguments.command == Arguments::Command::Decompile ? all.jobs.size() : 0);
    for (size_t i = 0; i < all.jobs.size(); ++i) {
      const Outcome outcome = workers.take(i);
      progress.clear();
      if (!print(arguments, all.jobs[i], outcome, all.jobs.size() == 1)) {
        return cannot_print();
      }
      progress.show(i + 1);
      ++counts[outcome.name()];
      if (!outcome.error.empty() || outcome.refused) status = kError;
      if (outcome.verdict == "unproven" && status == kOk) status = kUnproven;
    }
  }
  const bool sums_up = arguments.command == Arguments::Command::Decompile && !arguments.as_json;
  if (sums_up && all.jobs.size() > 1) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    print_summary(counts, all.jobs.size(), spent.count());
  }
  return status;
}

// Lists what loading the pickles of the inputs would do.
int inspect(const Arguments& arguments) {
  int status = kOk;
  bool is_closed = false;
  for (const std::string& input : arguments.inputs) {
    const Result<size_t> count = list_loads(input, arguments.as_json, [&](const std::string& text) {
      is_closed = !put(text);
      return !is_closed;
    });
    if (is_closed) return cannot_print();
    if (count.ok() && *count > 0) continue;
    complain(input, count.ok() ? "no pickle in it" : described(count.error()));
    status = kError;
  }
  return status;
}

}  // namespace

}  // namespace pellucid::cli

int main(int argc, char** argv) {
  using pellucid::cli::Arguments;
  const Arguments arguments = pellucid::cli::parse(argc, argv);
  switch (arguments.command) {
    case Arguments::Command::Version:
      std::puts("pellucid " PELLUCID_VERSION);
      return 0;
    case Arguments::Command::Help:
      std::fputs(arguments.help, stdout);
      return 0;
    case Arguments::Command::Wrong:
      std::fputs(pellucid::cli::kUsage, stderr);
      if (!arguments.complaint.empty()) {
        std::fprintf(stderr, "pellucid: %s\n", arguments.complaint.c_str());
      }
      return 2;
    case Arguments::Command::Inspect:
      return pellucid::cli::inspect(arguments);
    case Arguments::Command::Decompile:
    case Arguments::Command::Dump:
      return pellucid::cli::run(arguments);
  }
  return 2;
}
