// The parent's side of a worker process, which serves one file. Internal to
// io/hdf5.
#pragma once

#include <string>

#include <sys/types.h>

#include <octet/runtime/error.h>

#include "reader.h"
#include "request.h"
#include "socket.h"

namespace octet::io {

class Hdf5Worker : public Hdf5Backend {
 public:
  /// Throws: FormatError if the file cannot be opened, IoError if no process
  /// can be started.
  Hdf5Worker(std::string contents, const FileLimits& limits,
             Hdf5Hook before_response);
  ~Hdf5Worker() override;
  Hdf5Worker(const Hdf5Worker&) = delete;
  Hdf5Worker& operator=(const Hdf5Worker&) = delete;

  Config respond(const Hdf5Request& request) override;
  Tensor read(const Hdf5Request& request) override;

 private:
  /// Runs `body` within the remaining time.
  template <class Body>
  auto timed(Body body);
  void send(std::string_view bytes);
  void receive(char* to, size_t count);
  /// Receives the header of a successful response.
  /// Throws: errors that the worker sends.
  ResponseHeader receive_header();
  Error receive_error(const ResponseHeader& header);
  std::string receive_text(uint64_t bytes, uint64_t most);
  void send_request(const Hdf5Request& request);
  void check(Transfer transfer);
  [[noreturn]] void fail(const FormatError& error);
  /// Ends the process; returns its status as of waitpid().
  int stop();

  pid_t process_ = -1;
  int socket_ = -1;
  double time_limit_;
  std::chrono::duration<double> time_left_;
  Deadline deadline_;
  FormatError failure_{"internal", "HDF5 file",
                       "no worker process"};  ///< why there is no process
};

}  // namespace octet::io
