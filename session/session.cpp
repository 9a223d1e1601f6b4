#include <octet/runtime/file.h>
#include <octet/session/detail/session_file.h>
#include <octet/session/session.h>

namespace octet {

void save_session(const Model& model, const std::filesystem::path& path) {
  write_file(path, session::session_file_bytes(model));
}

InferenceSession load_session(const std::filesystem::path& path,
                              const SessionOptions& options) {
  return InferenceSession(session::load_session_model(path), options);
}

}  // namespace octet
