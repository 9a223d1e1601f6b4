// Checks of output files against input files, before a command starts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet::program {

/// An output file or folder of a command.
struct Output {
  std::string option;  ///< its option: "--output"
  std::string path;
};

/// Checks that no output is an input file under any name (links, "./x"), a
/// sample file in an input folder, or a folder that contains an input file, and
/// that no two options name the same file. For "NAME=PATH", checks the path as
/// well. Accepts pipes and devices.
/// Throws: ValueError with the option.
void check_outputs(const std::vector<Output>& outputs,
                   const std::vector<std::string>& read);

/// Returns why `path` cannot name a file with one of `extensions`, or "". If
/// `only`, rejects all other names; else only known extensions of other
/// formats.
std::string wrong_name(const std::string& path,
                       const std::vector<std::string>& extensions, bool only);

}  // namespace octet::program
