// The parent's side: a process that holds one file. Internal to io/hdf5.
#pragma once

#include <string>

#include <sys/types.h>

#include "reader.h"
#include "request.h"
#include "socket.h"

namespace octet::io {

class Hdf5Worker : public Hdf5Backend {
 public:
  /// Throws: FormatError if the file cannot be opened, IoError if there can
  /// be no process.
  Hdf5Worker(std::string contents, const FileLimits& limits,
             Hdf5Hook before_response);
  ~Hdf5Worker() override;
  Hdf5Worker(const Hdf5Worker&) = delete;
  Hdf5Worker& operator=(const Hdf5Worker&) = delete;

  Config respond(const Hdf5Request& request) override;
  Tensor read(const Hdf5Request& request) override;

 private:
  /// Runs `body` with the time that is left.
  template <class Body>
  auto timed(Body body);
  void send(std::string_view bytes);
  void receive(char* to, size_t count);
  /// The header of a response that is no error.
  ResponseHeader receive_header();
  std::string receive_text(uint64_t bytes, uint64_t most);
  void send_request(const Hdf5Request& request);
  void check(Transfer transfer);
  [[noreturn]] void fail(std::string reason);
  /// Ends the process; returns how it ended, in waitpid's terms.
  int stop();

  pid_t process_ = -1;
  int socket_ = -1;
  double time_limit_;
  std::chrono::duration<double> time_left_;
  Deadline deadline_;
  std::string failure_;  ///< why there is no process any more
};

}  // namespace octet::io
