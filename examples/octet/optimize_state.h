// State file of octet optimize: trials of an interrupted search.
#pragma once

#include <cstdint>
#include <string>

#include <octet/layers/model.h>
#include <octet/quant/optimize.h>
#include <octet/runtime/dataset.h>

namespace octet::program {

/// What the trials of a state file depend on.
struct SearchIdentity {
  std::string model;     ///< hash of the float model
  std::string data;      ///< hash of calibration and validation samples
  std::string settings;  ///< target, seed and other options

  bool operator==(const SearchIdentity&) const = default;
};

/// Computes the hashes.
SearchIdentity identity_of(const Model& model, const Dataset& calibration,
                           const Dataset& validation, std::string settings);

/// Reads a state file; an empty state if there is no such file.
/// Throws: FormatError for a file that is no state file; ValueError for one of
/// another model, other data or settings.
quant::OptimizeState read_state(const std::string& path,
                                const SearchIdentity& identity);

/// Writes the state atomically. Throws: IoError.
void write_state(const std::string& path, const SearchIdentity& identity,
                 const quant::OptimizeState& state);

}  // namespace octet::program
