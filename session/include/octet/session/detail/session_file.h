// Contents of session files, for io and the C API.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <octet/layers/model.h>
#include <octet/quant/plan.h>
#include <octet/runtime/config.h>

namespace octet::session {

/// A model and additional entries, which inference ignores.
struct SessionFile {
  quant::ModelState model;
  Config info;  ///< object
};

/// Whether bytes begin like a session file, even if it is damaged.
bool has_session_magic(std::string_view bytes);
/// Whether a file does.
bool is_session_file(const std::filesystem::path& path);

/// Returns the bytes of a file. See save_session().
std::string session_file_bytes(const Model& model, const Config& info = {});

/// Parses a file.
/// Throws: FormatError; UnsupportedError for a newer version.
SessionFile parse_session_file(std::string_view bytes);

/// Builds the model; its layers may not allocate more weights than the file
/// has.
/// Throws: FormatError for an inconsistent state; UnsupportedError for unknown
/// layer classes.
Model model_of(SessionFile file);

/// Loads the model of a file.
/// Throws: IoError; as parse_session_file() and model_of().
Model load_session_model(const std::filesystem::path& path);

}  // namespace octet::session
