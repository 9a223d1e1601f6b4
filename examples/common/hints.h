// Translates the library's hints, which contain C++ names, to hints with
// command line options. Rules match the code of an error or a C++ name in its
// hint, not the wording. A hint with a C++ name but no matching rule is
// removed.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octet::program {

/// Replacement for the hint of errors with this code, or for hints with this
/// C++ name.
struct HintRule {
  std::string_view code;  ///< "not_calibrated", or "" if `name` is set
  std::string_view name;  ///< "io::load_model"
  std::string_view hint;  ///< "{}" is the last number of the library's hint
};

/// A field of an options struct, and the option that sets it.
struct OptionName {
  std::string_view type;   ///< "KerasOptions"
  std::string_view field;  ///< "architecture"
  std::string_view option;
};

/// Return the tables. A test checks that their names exist in the library.
std::span<const HintRule> hint_rules();
std::span<const OptionName> option_names();

/// Returns a message of the library, with the error's `code` if any, as the
/// command line shows it.
std::string on_command_line(std::string text, std::string_view code = {});

}  // namespace octet::program
