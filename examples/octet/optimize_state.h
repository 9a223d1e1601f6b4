// State file of octet optimize: trials of an interrupted search.
#pragma once

#include <cstdint>
#include <string>

#include <octet/layers/model.h>
#include <octet/quant/optimize.h>
#include <octet/runtime/dataset.h>

namespace octet::program {

/// Inputs of a search. Its trials are valid for a search with equal inputs.
struct SearchIdentity {
  std::string model;     ///< hash of the float model
  std::string data;      ///< hash of calibration and validation samples
  std::string settings;  ///< target, seed and other options

  bool operator==(const SearchIdentity&) const = default;
};

/// Returns the identity of a search.
SearchIdentity identity_of(const Model& model, const Dataset& calibration,
                           const Dataset& validation, std::string settings);

/// Reads a state file; an empty state if there is no such file.
/// Throws: FormatError for a file of another kind; ValueError for a state of
/// another model, other data or other settings.
quant::OptimizeState read_state(const std::string& path,
                                const SearchIdentity& identity);

/// Writes the state atomically. Throws: IoError.
void write_state(const std::string& path, const SearchIdentity& identity,
                 const quant::OptimizeState& state);

}  // namespace octet::program
