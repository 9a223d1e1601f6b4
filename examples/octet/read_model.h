// Models as the command line names them.
#pragma once

#include <string>

#include <octet/layers/model.h>

namespace octet::program {

/// `what` is zoo:NAME. Throws: NotFoundError for an unknown network;
/// UnsupportedError for files, which are not read into a Model yet.
Model read_model(const std::string& what);

}  // namespace octet::program
