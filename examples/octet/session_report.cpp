#include "session_report.h"

#include <octet/io/json.h>
#include <octet/runtime/detail/text_table.h>

namespace octet::program {

Config to_config(const ProgramStep& step) {
  Config config = Config()
                      .set("name", step.name)
                      .set("op", step.op)
                      .set("reads", step.reads)
                      .set("fused", step.fused)
                      .set("stores", step.stores)
                      .set("multiply_adds", step.multiply_adds)
                      .set("weight_bytes", step.weight_bytes);
  if (!step.note.empty()) config.set("note", step.note);
  return config;
}

std::string steps_text(const InferenceSession& session) {
  TextTable table(std::vector<Align>(6));
  table.add_row({"layer", "op", "inputs", "fused", "output", "reason"});
  table.add_rule();
  for (const ProgramStep& step : session.steps()) {
    table.add_row(
        {step.name, step.op, step.reads, step.fused, step.stores, step.note});
  }
  return table.to_string();
}

std::string steps_json(const InferenceSession& session) {
  Config::List list;
  for (const ProgramStep& step : session.steps()) {
    list.push_back(to_config(step));
  }
  return io::to_json(list) + "\n";
}

}  // namespace octet::program
