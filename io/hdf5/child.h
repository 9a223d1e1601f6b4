// The parent's side: a process that holds one file. Internal to io/hdf5.
#pragma once

#include <string>

#include <sys/types.h>

#include "question.h"
#include "reader.h"
#include "socket.h"

namespace octet::io {

class Hdf5Child : public Hdf5Backend {
 public:
  /// Throws: FormatError if the file cannot be opened, IoError if there can
  /// be no process.
  Hdf5Child(std::string contents, const FileLimits& limits,
            Hdf5Hook before_answer);
  ~Hdf5Child() override;
  Hdf5Child(const Hdf5Child&) = delete;
  Hdf5Child& operator=(const Hdf5Child&) = delete;

  Config ask(const Hdf5Question& question) override;
  Tensor read(const Hdf5Question& question) override;

 private:
  /// Runs `body` with the time that is left.
  template <class Body>
  auto timed(Body body);
  void send(std::string_view bytes);
  void receive(char* to, size_t count);
  /// The head of an answer that is no error.
  AnswerHead receive_head();
  std::string receive_text(uint64_t bytes, uint64_t most);
  void put_question(const Hdf5Question& question);
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
