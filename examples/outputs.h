// The files that a command writes, checked against those that it reads before
// it begins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet::program {

/// A file, or a folder of files, that a command writes.
struct Output {
  std::string option;  ///< that names it: "--output"
  std::string path;
};

/// Checks that no output is a file that is read, under whatever name (links,
/// "./x"), a file of samples in a folder that is read, or a folder with a file
/// that is read, and that no two options write one file. Of "NAME=PATH" the
/// path counts as well. Pipes and devices pass.
/// Throws: ValueError that names the option.
void check_outputs(const std::vector<Output>& outputs,
                   const std::vector<std::string>& read);

/// Why `path` is no name for a file with one of `extensions`, or "". With
/// `only`, another name than these is refused; else the known extension of
/// another format.
std::string wrong_name(const std::string& path,
                       const std::vector<std::string>& extensions, bool only);

}  // namespace octet::program
