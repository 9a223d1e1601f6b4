// The octet command line program: `octet --help` lists what it does.
//
// Exit codes: 0 done, 1 an error (told on standard error), 2 wrong usage.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>

#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/runtime/version.h>

#include "commands.h"

namespace octet_program {

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE) return;
      throw octet::IoError(std::string("standard output: cannot write: ") +
                           std::strerror(errno));
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

namespace {

constexpr int kError = 1;
constexpr int kUsage = 2;

int run(int argc, char** argv) {
  CLI::App program("Trains, quantizes and ships INT8 networks.", "octet");
  program.set_version_flag("--version",
                           std::string("octet ") + octet::version());
  add_inspect(program);
  program.require_subcommand(0, 1);
  program.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("error: ") + error.what() +
           "\nRun with --help for more information.\n";
  });
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 numbers its errors from 100; --help and --version are 0.
    std::ostringstream out, problem;
    const int code = program.exit(error, out, problem);
    print(out.str());
    std::fputs(problem.str().c_str(), stderr);
    return code == 0 ? 0 : kUsage;
  }
  if (program.get_subcommands().empty()) {
    std::fputs(program.help().c_str(), stderr);
    return kUsage;
  }
  return 0;
}

}  // namespace
}  // namespace octet_program

int main(int argc, char** argv) {
  // A reader that leaves shows as an error of write() instead.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return octet_program::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return octet_program::kError;
  }
}
