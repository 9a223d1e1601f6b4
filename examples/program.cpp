#include "program.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/isa.h>
#include <octet/runtime/printable.h>
#include <octet/runtime/version.h>

#include "usage.h"

namespace octet::program {

int run(CLI::App& app, int argc, char** argv,
        const std::function<void()>& body) {
  // A reader that leaves shows as an error of write() instead.
  std::signal(SIGPIPE, SIG_IGN);
  app.set_version_flag("--version", std::string("octet ") + version());
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return "error: " + explain_usage(*failed, error) +
           "\nRun with --help for more information.\n";
  });
  try {
    (void)active_isa();  // a bad OCTET_ISA is told before anything is done
    if (argc <= 1 && app.get_require_subcommand_min() > 0) {
      print(app.help());
      return 0;
    }
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      // CLI11 numbers its errors from 100; --help and --version are 0.
      std::ostringstream out, problem;
      const int code = app.exit(error, out, problem);
      print(out.str());
      std::fputs(problem.str().c_str(), stderr);
      return code == 0 ? 0 : 2;
    }
    body();
    return 0;
  } catch (const Error& error) {
    // One line, whatever the context.
    std::string text = error.message();
    for (const std::string& frame : error.context()) text += ", " + frame;
    std::fprintf(stderr, "error: %s\n", text.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", printable_lines(error.what()).c_str());
  }
  return 1;
}

CLI::Option* add_number(CLI::App& app, const char* name, int64_t& value,
                        int64_t least, int64_t most, const char* help) {
  const auto parse = [=, &value](const CLI::results_t& words) {
    const std::string& word = words.at(0);
    int64_t number = 0;
    const char* end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, number);
    if (error != std::errc() || rest != end || number < least ||
        number > most) {
      throw CLI::ValidationError(
          name, "expected a number from " + std::to_string(least) + " to " +
                    std::to_string(most) + ", got '" + word + "'");
    }
    value = number;
    return true;
  };
  return app.add_option(name, parse, help)->type_name("N");
}

void print(std::string_view words, int descriptor) {
  // Models name their layers as they like.
  const std::string shown = printable_lines(words);
  std::string_view text = shown;
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE) return;
      throw IoError(fmt::format(
          "{}: cannot write: {}",
          descriptor == STDERR_FILENO ? "standard error" : "standard output",
          std::strerror(errno)));
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void check_output(const std::string& path) {
  FileSet files;
  files.add(path, "");  // without commit() nothing is left behind
}

double percent(double share) { return std::round(1e4 * share) / 100; }

}  // namespace octet::program
