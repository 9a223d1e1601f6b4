// What a program takes on its command line. CLI11 parses it, which only
// command_line.cpp sees: its header costs a source four seconds of compiling.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "outputs.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace octet::program {

/// What a command writes, as its options say once it was chosen.
using OutputsOf = std::function<std::vector<Output>()>;
struct WrittenFiles;

/// What an output may be called beside the extensions of its formats.
enum class OtherNames {
  refused,  ///< nothing else
  unknown   ///< no extension, or one that is not known for another format
};

/// An option or argument of a command, to say more of it.
class Option {
 public:
  /// What the help calls its value: "DIR".
  Option& type(const char* name);
  Option& required();
  Option& show_default();
  /// `problem` gives what is wrong with a value, or nothing.
  Option& check(std::function<std::string(const std::string&)> problem);
  /// The value is a file that the command writes: its name has one of these
  /// extensions (".onnx"), and it is none of the files that the command reads.
  Option& writes(std::vector<std::string> extensions,
                 OtherNames others = OtherNames::refused);
  /// The option makes the command write these as well; they are asked for if
  /// it is given.
  Option& also_writes(OutputsOf outputs);
  Option& needs(const Option& other);
  Option& excludes(const Option& other);

 private:
  friend class Command;
  Option(CLI::Option* option, std::shared_ptr<WrittenFiles> written)
      : option_(option), written_(std::move(written)) {}
  CLI::Option* option_;
  std::shared_ptr<WrittenFiles> written_;
};

/// A program or one of its commands: its options ("--out") and its arguments
/// ("model"), whose values it keeps references to. "-o,--output,output" is an
/// option and an argument as well.
class Command {
 public:
  Command add_command(const char* name, const char* description);

  Option add(const char* name, std::string& value, const char* help);
  Option add(const char* name, std::optional<std::string>& value,
             const char* help);
  /// May be given several times; of an argument, one after another.
  Option add(const char* name, std::vector<std::string>& value,
             const char* help);
  /// Decimal numbers in [least, most].
  Option add(const char* name, int64_t& value, int64_t least, int64_t most,
             const char* help);
  Option add(const char* name, double& value, double least, double most,
             const char* help);
  /// With a value or without: the option alone means `implicit`.
  Option add_with_implicit(const char* name, std::optional<std::string>& value,
                           const char* implicit, const char* help);
  Option add_flag(const char* name, bool& value, const char* help);

  /// Heads the options added from now on in the help: "Quantization".
  void begin_group(const char* name);
  /// Text below the options in the help.
  void set_footer(const char* text);
  /// Called once the command line is read, if the command was chosen.
  /// `body` may throw a UsageError.
  void when_chosen(std::function<void()> body);

 protected:
  Command(CLI::App* app, std::shared_ptr<const std::string> job);
  CLI::App* app_;
  std::shared_ptr<WrittenFiles> written_;
};

/// A command line that does not say what is needed. Exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class CommandLine : public Command {
 public:
  /// `name` is that of a program that has commands; others are called as their
  /// file is.
  explicit CommandLine(const char* description, const char* name = "");
  ~CommandLine();

  /// Adds `run JOB.toml`: the commands that are sections of a file, one after
  /// another, with their options as keys.
  void add_job_command();
  /// Adds `completion SHELL`, which prints a script of what there is.
  void add_completion_command();
  /// Adds `man DIR`, which writes manual pages of what there is.
  void add_man_command();

  /// Parses the command line and runs `body` or the command that was chosen.
  /// Returns the exit code: 0 done (or help was asked for), 1 an error, told
  /// on standard error, 2 wrong usage.
  int run(int argc, char** argv, const std::function<void()>& body = {});

 private:
  void run_job();
  std::string text_of(const std::string& message) const;
  int refuse(const std::string& problem) const;

  std::unique_ptr<CLI::App> owned_;
  bool is_octet_;  ///< not one of the examples, whose users write C++
  std::shared_ptr<std::string> job_;
};

}  // namespace octet::program
