// First part of the planner: selects buffers and their formats.
#include <algorithm>
#include <cstddef>
#include <ranges>
#include <tuple>
#include <vector>

#include <octet/runtime/detail/portable_program.h>

#include "lookup.h"
#include "passes.h"
#include "planner.h"
#include "tensor/byte_codes.h"

namespace octet::inference {

using autograd::GemmType;
using kernels::StorageFormat;

Program::Plan Planner::run() {
  find_code_forms();
  do {
    collect();
  } while (unfuse() || share_tensors());
  skip_pixels();
  for (Storage& s : plan_.storages) {
    if (s.slice_of < 0) s.lay_out();
    const LoweredValue& v = at(graph_.values, s.value);
    s.constant = v.constant;
    if (v.alias >= 0 && s.tensor) {
      s.alias = find_buffer(v.alias, floats_of(v.alias), true);
    }
  }
  pad_pixel_strides();
  for (Storage& s : plan_.storages) {  // after the storages that contain them
    if (s.slice_of >= 0) s.lay_out_in(at(plan_.storages, s.slice_of));
  }
  emit();
  return std::move(plan_);
}

StorageFormat Planner::form_of(const LinearCall& call, int x) const {
  switch (call.factor) {
    case GemmType::codes:
      return call.kernels->code_table.form;
    case GemmType::float_codes:
      return StorageFormat::float_codes;
    default:
      return floats_of(x);
  }
}

void Planner::find_code_forms() {
  for (const Call& call : graph_.calls) {
    if (!call.linear || call.linear->factor != GemmType::codes) continue;
    const StorageFormat form = call.linear->kernels->code_table.form;
    std::vector<int> stored{call.inputs[0]};
    for (size_t k = 0; k < stored.size(); ++k) {
      code_forms_.emplace(stored[k], form);
      const LoweredValue& v = at(graph_.values, stored[k]);
      stored.insert(stored.end(), v.parts.begin(), v.parts.end());
      if (v.slice.of >= 0) stored.push_back(v.slice.of);
    }
  }
  // Pooling keeps the format.
  for (const Call& call : std::views::reverse(graph_.calls)) {
    if (call.pool && at(graph_.values, call.output).codes) {
      code_forms_.emplace(call.inputs[0], code_form_of(call.output));
    }
  }
}

StorageFormat Planner::code_form_of(int value) const {
  const auto found = code_forms_.find(value);
  return found == code_forms_.end() ? kernels::table().codes.form
                                    : found->second;
}

int Planner::identity_of(int value) {
  const int i = graph_.plain(value);
  outputs_.resize(graph_.pointwise.size());
  others_.resize(graph_.pointwise.size(), -1);
  return i;
}

void Planner::collect() {
  plan_ = {};
  found_.clear();
  outputs_.assign(graph_.pointwise.size(), {});
  others_.assign(graph_.pointwise.size(), -1);
  reads_.clear();
  pooled_.clear();
  tables_.clear();
  table_inputs_.clear();
  read_ = graph_.read_calls();
  for (size_t i = 0; i < graph_.calls.size(); ++i) {
    const Call& call = graph_.calls[i];
    std::vector<int> reads;
    for (const int input : call.inputs) {
      if (!read_[i] || is_slice(call)) continue;
      if (call.pool) {
        reads.push_back(
            require_buffer(input, code_form_of(call.output), call.pads, false));
        continue;
      }
      if (call.linear) {
        reads.push_back(require_buffer(
            input, form_of(*call.linear, input),
            sum(call.linear->kernels->padding(), call.pads), false));
        continue;
      }
      const int x = call.layer ? term_of(input) : input;
      reads.push_back(require_buffer(x, floats_of(x), {}, true));
    }
    reads_.push_back(std::move(reads));
    if (!call.linear && !call.pool && read_[i] && !is_slice(call)) {
      (void)require_buffer(call.output, StorageFormat::values, {}, true);
    }
  }
  for (const int input : graph_.inputs) {
    plan_.inputs.push_back(
        require_buffer(input, StorageFormat::values, {}, true));
  }
  for (const int output : graph_.outputs) {
    const int storage = require_buffer(output, floats_of(output), {}, true);
    const LoweredValue& v = at(graph_.values, output);
    const bool of_op = v.call >= 0 && !at(graph_.calls, v.call).layer;
    const bool written = of_op || v.pointwise >= 0 || !v.parts.empty();
    plan_.direct.push_back(written && v.alias < 0 &&
                           std::ranges::find(plan_.outputs, storage) ==
                               plan_.outputs.end());
    plan_.outputs.push_back(storage);
  }
  collect_slices();
}

void Planner::collect_slices() {
  for (size_t i = graph_.calls.size(); i-- > 0;) {
    const Call& call = graph_.calls[i];
    if (!read_[i] || !is_slice(call)) continue;
    const int output = find_buffer(call.output, StorageFormat::values, true);
    read_[i] = output >= 0;
    if (!read_[i]) continue;
    const int x = call.inputs[0];
    reads_[i] = {require_buffer(x, floats_of(x), {}, true)};
  }
}

int Planner::find_buffer(int value, StorageFormat form, bool tensor) const {
  const auto found = found_.find({value, form, tensor});
  return found == found_.end() ? -1 : found->second;
}

// Iterative: nested expressions may be as deep as the network.
int Planner::require_buffer(int value, StorageFormat form, const Pads& pads,
                            bool tensor) {
  std::vector<BufferRequest> open;
  const int storage = store({value, form, pads, tensor}, open);
  std::ranges::reverse(open);
  while (!open.empty()) {
    const BufferRequest next = open.back();
    open.pop_back();
    const size_t before = open.size();
    const int made = store(next, open);
    if (next.added_by >= 0) at(others_, next.added_by) = made;
    std::reverse(open.begin() + static_cast<std::ptrdiff_t>(before),
                 open.end());
  }
  return storage;
}

int Planner::reuse(const BufferRequest& request) {
  if (request.slice_of >= 0) return -1;
  const int found = find_buffer(request.value, request.form, request.tensor);
  if (found < 0) return -1;
  const Storage& whole = at(plan_.storages, whole_of(plan_.storages, found));
  // Tensors have no padding.
  if (whole.tensor && request.pads != Pads{}) return -1;
  for (int i = found; i >= 0; i = at(plan_.storages, i).slice_of) {
    Pads& widest = at(plan_.storages, i).pads;
    widest.top = std::max(widest.top, request.pads.top);
    widest.bottom = std::max(widest.bottom, request.pads.bottom);
    widest.left = std::max(widest.left, request.pads.left);
    widest.right = std::max(widest.right, request.pads.right);
  }
  return found;
}

bool Planner::reads_slice(const BufferRequest& request) const {
  const LoweredValue& v = at(graph_.values, request.value);
  const bool packed = request.form == StorageFormat::bytes ||
                      request.form == StorageFormat::shorts;
  const int64_t word =
      packed ? kernels::table().codes_in(request.form).codes_per_word : 1;
  // A recorded program has no storages that are part of others.
  return v.slice.of >= 0 && !request.tensor && request.slice_of < 0 &&
         v.slice.first % word == 0 && v.shape[-1] % word == 0 &&
         detail::active_recorder() == nullptr;
}

int Planner::store_slice(const BufferRequest& request) {
  const LoweredValue v = at(graph_.values, request.value);
  const StorageFormat form = request.form == StorageFormat::values
                                 ? floats_of(v.slice.of)
                                 : request.form;
  const int whole = require_buffer(v.slice.of, form, request.pads, false);
  const Storage& s = at(plan_.storages, whole);
  plan_.storages.push_back({.value = request.value,
                            .form = request.form,
                            .pads = request.pads,
                            .slice_of = whole,
                            .channel = v.slice.first,
                            .zero_byte = s.zero_byte,
                            .int8 = s.int8,
                            .qparams = v.qparams,
                            .shape = v.shape});
  const int storage = static_cast<int>(plan_.storages.size()) - 1;
  found_.emplace(std::tuple(request.value, request.form, false), storage);
  return storage;
}

int Planner::store(BufferRequest request, std::vector<BufferRequest>& open) {
  const LoweredValue v = at(graph_.values, request.value);
  const bool slice = request.slice_of >= 0;
  const bool whole = v.pointwise < 0 && !v.sums;  // input or call output
  const bool sliced = reads_slice(request);
  if (whole && !slice && !sliced && request.form == StorageFormat::values &&
      request.pads == Pads{}) {
    request.tensor = true;
  }
  if (const int found = reuse(request); found >= 0) return found;
  if (sliced) return store_slice(request);
  const kernels::Table& table = kernels::table();
  const int storage = static_cast<int>(plan_.storages.size());
  if (!slice) {
    found_.emplace(std::tuple(request.value, request.form, request.tensor),
                   storage);
  }
  plan_.storages.push_back(
      {.value = request.value,
       .form = request.form,
       .pads = request.pads,
       .tensor = request.tensor,
       .slice_of = request.slice_of,
       .channel = request.channel,
       .zero_byte = zero_byte(v.qparams, table.codes_in(request.form)),
       .int8 = fits_int8(v.qparams),
       .qparams = v.qparams,
       .shape = v.shape});
  if (!v.parts.empty() && !slice) {
    int64_t channel = 0;
    for (const int part : v.parts) {
      // Of a float concatenation, a part may be quantized.
      const StorageFormat form = request.form == StorageFormat::values
                                     ? floats_of(part)
                                     : request.form;
      open.push_back({part, form, {}, false, -1, storage, channel});
      channel += at(graph_.values, part).shape[-1];
    }
    return storage;
  }
  if (whole && request.tensor && v.alias >= 0) {
    open.push_back({v.alias, floats_of(v.alias), {}, true});
  }
  if (v.codes) pooled_[request.value].push_back(storage);
  if (!(whole && request.tensor) && !v.codes) {
    request_inputs(request.value, storage, open);
  }
  return storage;
}

bool Planner::request_table(const Pointwise& p, int storage,
                            std::vector<BufferRequest>& open) {
  const QuantParams of_x = at(graph_.values, p.first).qparams;
  if (p.second >= 0 || p.multiplier >= 0 || p.e.first.scaled() ||
      !fits_bytes(of_x)) {
    return false;
  }
  Storage& output = at(plan_.storages, storage);
  output.lay_out();
  const StorageFormat form = code_form_of(p.first);
  Lookup lookup{p.e, p.function, of_x};
  lookup.e.qparams = at(graph_.values, output.value).qparams;
  TableStep step;
  step.table =
      lookup.tabulate(zero_byte(of_x, kernels::table().codes_in(form)), output);
  if (step.table.empty()) return false;
  tables_[storage] = std::move(step);
  table_inputs_[storage] = p.first;
  open.push_back({p.first, form, {}, false});
  return true;
}

void Planner::request_inputs(int value, int storage,
                             std::vector<BufferRequest>& open) {
  const int known = at(graph_.values, value).pointwise;
  const int i = known >= 0 ? known : identity_of(value);
  at(outputs_, i).push_back(storage);
  const Pointwise& p = at(graph_.pointwise, i);
  if (!p.fusable || unfused_.contains(i)) {
    if (request_table(p, storage, open)) return;
    for (const int read : {p.first, p.second, p.multiplier}) {
      if (read >= 0) open.push_back({read, floats_of(read), {}, true});
    }
  } else if (p.other >= 0 && at(outputs_, i).size() == 1) {
    const bool codes = !at(graph_.values, p.other).qparams.empty();
    open.push_back({p.other,
                    codes ? code_form_of(p.other) : StorageFormat::values,
                    {},
                    shared_.contains(p.other),
                    i});
  }
}

bool Planner::unfuse() {
  const size_t before = unfused_.size();
  followers_.clear();
  for (size_t i = 0; i < graph_.pointwise.size(); ++i) {
    const Pointwise& p = graph_.pointwise[i];
    const int id = static_cast<int>(i);
    if (outputs_[i].empty() || !p.fusable || unfused_.contains(id)) continue;
    followers_[p.sums].push_back(id);
  }
  for (const auto& [sums, list] : followers_) {
    for (const int i : list) {
      if (at(graph_.pointwise, i).plain()) continue;
      if (list.size() > 1 ||
          at(outputs_, i).size() > size_t{kernels::kMostFusedOutputs}) {
        unfused_.insert(i);
      }
    }
  }
  return unfused_.size() > before;
}

bool Planner::share_tensors() {
  const size_t before = shared_.size();
  for (const int other : others_) {
    if (other < 0) continue;
    const Storage& s = at(plan_.storages, other);
    if (!s.tensor && s.form == StorageFormat::values &&
        find_buffer(s.value, s.form, true) >= 0) {
      shared_.insert(s.value);
    }
  }
  return shared_.size() > before;
}

std::vector<int> Planner::followers(const Call& call) const {
  const auto found = followers_.find(call.output);
  return found == followers_.end() ? std::vector<int>() : found->second;
}

Program::Plan lay_out(LoweredGraph graph) {
  return Planner(std::move(graph)).run();
}

}  // namespace octet::inference
