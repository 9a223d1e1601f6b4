// --columns: columns of a table of images.
#pragma once

#include <string>

#include <octet/io/data.h>

#include "../common/command_line.h"

namespace octet::program {

void add_columns_option(Command& command, std::string& columns);

/// Parses "label=kind,weight=certainty".
/// Throws: ValueError for another form.
io::ImageColumns columns_of(const std::string& list);

/// Returns whether the data are a table of images.
bool is_table(const io::OpenedData& opened);

/// Throws: ValueError for --columns with other data.
void check_columns(const std::string& columns, const io::OpenedData& opened);

}  // namespace octet::program
