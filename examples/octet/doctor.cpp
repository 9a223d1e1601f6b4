// octet doctor: reports the build, the machine, and missing dependencies.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>
#include <stdlib.h>

#include <octet/io/data.h>
#include <octet/io/image.h>
#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/system.h>

#include "../common/program.h"
#include "commands.h"

namespace octet::program {
namespace {

namespace fs = std::filesystem;

struct Finding {
  std::string what;
  std::string state;
  std::string hint = "";  ///< how to install a missing dependency
  bool needed = false;    ///< the program fails without it
};

/// Returns the paths of all loaded shared libraries.
std::vector<fs::path> loaded_libraries() {
  std::vector<fs::path> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* list) {
        std::error_code ignored;
        const fs::path real = fs::canonical(info->dlpi_name, ignored);
        if (!ignored)
          static_cast<std::vector<fs::path>*>(list)->push_back(real);
        return 0;
      },
      &paths);
  return paths;
}

/// Returns the file name of a loaded library, with its version:
/// "libhdf5_serial.so.103.3.0" for "libhdf5".
std::string library_named(const std::vector<fs::path>& paths,
                          std::string_view prefix) {
  for (const fs::path& path : paths) {
    const std::string name = path.filename().string();
    if (name.starts_with(prefix) && name.find(".so") != std::string::npos) {
      return name;
    }
  }
  return "";
}

/// Saves and loads a model through the HDF5 worker process. Returns the error
/// text, or "".
std::string try_files() {
  std::string pattern =
      (fs::temp_directory_path() / "octet_doctor.XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return fmt::format("cannot create a folder in '{}'",
                       fs::temp_directory_path().string());
  }
  std::string problem;
  try {
    const fs::path file = fs::path(pattern) / "model.h5";
    const Model model = zoo::make("lenet");
    io::save_model(model, file);
    if (io::load_model(file).parameter_count() != model.parameter_count()) {
      problem = "a loaded model has other parameters than the saved model";
    }
  } catch (const std::exception& error) {
    problem = error.what();
  }
  std::error_code ignored;
  fs::remove_all(pattern, ignored);
  return problem;
}

std::vector<Finding> findings() {
  std::vector<std::string_view> isas;
  for (const Isa isa : supported_isas()) isas.push_back(to_string(isa));
  std::vector<Finding> all = {
      {"octet", version()},
      {"instruction set",
       fmt::format("{} (of {}; set by OCTET_ISA)", to_string(active_isa()),
                   fmt::join(isas, ", "))},
      {"threads", fmt::format("{} of {}", num_threads(), available_threads())}};
  const std::vector<fs::path> paths = loaded_libraries();
  for (const char* name : {"libhdf5", "libonnx", "libprotobuf", "libtbb",
                           "libre2", "libcsv", "libz", "libfmt"}) {
    const std::string found = library_named(paths, name);
    all.push_back(
        {name, found.empty() ? "linked statically or not used" : found});
  }
  const auto image = [&](const char* format, bool reads, const char* library,
                         const char* package) {
    const std::string found = library_named(paths, library);
    all.push_back(
        {fmt::format("{} images", format),
         !reads          ? "missing"
         : found.empty() ? "read"
                         : found,
         reads ? ""
               : fmt::format("apt-get install {}, then reconfigure and rebuild",
                             package)});
  };
  image("PNG", io::reads_png(), "libpng", "libpng-dev");
  image("JPEG", io::reads_jpeg(), "libjpeg", "libjpeg-dev");
  std::error_code ignored;
  const bool data = fs::is_directory(io::kFashionMnistFolder, ignored);
  all.push_back({"Fashion-MNIST",
                 data ? std::string(io::kFashionMnistFolder) : "missing",
                 data ? "" : "apt-get install dataset-fashion-mnist"});
  const std::string problem = try_files();
  all.push_back(
      {"model files", problem.empty() ? "can be written and read" : problem,
       problem.empty() ? "" : "set TMPDIR to a folder with free space", true});
  return all;
}

void examine(bool json) {
  const std::vector<Finding> all = findings();
  if (json) {
    Config::List list;
    for (const Finding& f : all) {
      list.push_back(Config()
                         .set("what", f.what)
                         .set("state", f.state)
                         .set("cure", f.hint));
    }
    print(io::to_json(Config(std::move(list))) + "\n");
  } else {
    TextTable table({Align::left, Align::left, Align::left});
    table.add_row({"", "found", "fix"});
    for (const Finding& f : all) table.add_row({f.what, f.state, f.hint});
    print(table.to_string());
  }
  for (const Finding& f : all) {
    if (!f.needed || f.hint.empty()) continue;
    throw IoError("cannot_write", f.what,
                  fmt::format("{}. Hint: {}", f.state, f.hint));
  }
}

}  // namespace

void add_doctor(CommandLine& program) {
  const auto json = std::make_shared<bool>(false);
  Command command =
      program.add_command("doctor", "Check the installation and the machine");
  command.begin_group("Output");
  command.add_flag("--json", *json, "print JSON");
  command.set_footer(
      "\nShows the instruction set, the number of threads, library versions, "
      "and\n"
      "how to install missing dependencies.\n\nExample:\n  octet doctor\n");
  command.when_chosen([json] { examine(*json); });
}

}  // namespace octet::program
