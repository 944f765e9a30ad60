// libkgen for C++11 and later: owners of bundles, calls and sessions, and spans of typed memory.
//
// Errors. A function that can fail has two forms. The first throws kgen::Error and is missing in
// builds without exceptions. The second takes a kgen::Status as its last argument and throws
// nothing: if it fails, the status holds the error, and the result is empty.
//
// Ownership. Bundle, Call and Session are movable owners. Kernel and Program belong to their
// bundle. Destroy calls and sessions before their bundle.
#ifndef KGEN_HPP
#define KGEN_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define KGEN_HPP_THROWS 1
#include <stdexcept>
#endif

#include "kgen.h"

namespace kgen {

// Result of a call: status code and error message.
class Status {
public:
    Status() = default;
    kgen_status code() const noexcept { return code_; }
    const std::string &message() const noexcept { return message_; }
    // Whether the call failed.
    explicit operator bool() const noexcept { return code_ != KGEN_OK; }

    void set(kgen_status code) { set(code, code == KGEN_OK ? "" : kgen_last_error()); }
    void set(kgen_status code, const std::string &message)
    {
        code_ = code;
        message_ = message;
    }

private:
    kgen_status code_ = KGEN_OK;
    std::string message_;
};

#if defined(KGEN_HPP_THROWS)
class Error : public std::runtime_error {
public:
    explicit Error(const Status &of) : std::runtime_error(of.message()), code_(of.code()) {}
    kgen_status code() const noexcept { return code_; }

private:
    kgen_status code_;
};

namespace detail {
inline void check(const Status &status)
{
    if (status)
        throw Error(status);
}
}  // namespace detail
#endif

// Contiguous elements, made from a pointer and a count, an array, or a container with data() and
// size().
template <class T> class Span {
public:
    Span() = default;
    Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N> Span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    template <class C, class = typename std::enable_if<std::is_convertible<
                           decltype(std::declval<C &>().data()), T *>::value>::type>
    Span(C &&container) noexcept : data_(container.data()), size_(container.size())
    {
    }
    T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    bool empty() const noexcept { return size_ == 0; }
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + size_; }
    T &operator[](std::size_t i) const { return data_[i]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// Memory of an argument, made from a pointer and its bytes, an array, a Span, or a container with
// data() and size().
class Buffer {
public:
    Buffer(void *data, std::size_t nbytes) noexcept : buffer_{data, nbytes} {}
    template <class T, std::size_t N>
    Buffer(T (&array)[N]) noexcept : buffer_{bytes(array), sizeof array}
    {
    }
    template <class C, class T = typename std::remove_pointer<
                           decltype(std::declval<C &>().data())>::type>
    Buffer(C &&container) noexcept
        : buffer_{bytes(container.data()), container.size() * sizeof(T)}
    {
    }
    const kgen_buffer &get() const noexcept { return buffer_; }

private:
    static void *bytes(const void *data) noexcept { return const_cast<void *>(data); }
    kgen_buffer buffer_;
};

namespace detail {
struct Close {
    void operator()(kgen_bundle *bundle) const noexcept { kgen_close(bundle); }
    void operator()(kgen_call *call) const noexcept { kgen_call_destroy(call); }
    void operator()(kgen_session *session) const noexcept { kgen_session_destroy(session); }
};
inline std::string text(const char *of)
{
    return of == nullptr ? "" : of;
}
inline std::vector<kgen_buffer> buffers(std::initializer_list<Buffer> of)
{
    std::vector<kgen_buffer> found;
    for (const Buffer &one : of)
        found.push_back(one.get());
    return found;
}
}  // namespace detail

// Prepared call of a kernel, whose arguments were checked once.
class Call {
public:
    Call() = default;
    explicit Call(kgen_call *owned) noexcept : call_(owned) {}
    kgen_call *get() const noexcept { return call_.get(); }
    explicit operator bool() const noexcept { return call_ != nullptr; }

    void run(Status &status) { status.set(kgen_call_run(get())); }
#if defined(KGEN_HPP_THROWS)
    void run()
    {
        Status status;
        run(status);
        detail::check(status);
    }
#endif

private:
    std::unique_ptr<kgen_call, detail::Close> call_;
};

// Kernel of a bundle.
class Kernel {
public:
    Kernel() = default;
    explicit Kernel(kgen_kernel *kernel) noexcept : kernel_(kernel) {}
    kgen_kernel *get() const noexcept { return kernel_; }
    explicit operator bool() const noexcept { return kernel_ != nullptr; }

    // Empty for an empty kernel.
    std::string key() const { return detail::text(kgen_kernel_key(kernel_)); }
    std::string target() const { return detail::text(kgen_kernel_target(kernel_)); }
    std::size_t num_arguments() const noexcept { return kgen_num_arguments(kernel_); }
    // `index` must be less than num_arguments().
    const kgen_tensor &argument(std::size_t index) const { return *kgen_argument(kernel_, index); }

    void run(std::initializer_list<Buffer> arguments, Status &status) const
    {
        const std::vector<kgen_buffer> all = detail::buffers(arguments);
        status.set(kgen_run(kernel_, all.data(), all.size()));
    }
    Call prepare(std::initializer_list<Buffer> arguments, Status &status) const
    {
        const std::vector<kgen_buffer> all = detail::buffers(arguments);
        kgen_call *made = nullptr;
        status.set(kgen_call_create(kernel_, all.data(), all.size(), &made));
        return Call(made);
    }
    // Return the bytes of the packed matrix.
    std::vector<unsigned char> pack(std::size_t index, const Buffer &matrix, Status &status) const
    {
        const kgen_tensor *packed = kgen_argument(kernel_, index);
        std::vector<unsigned char> made(packed == nullptr ? 0 : packed->nbytes);
        status.set(kgen_pack(kernel_, index, matrix.get().data, matrix.get().nbytes, made.data(),
                             made.size()));
        return made;
    }
#if defined(KGEN_HPP_THROWS)
    void run(std::initializer_list<Buffer> arguments) const
    {
        Status status;
        run(arguments, status);
        detail::check(status);
    }
    Call prepare(std::initializer_list<Buffer> arguments) const
    {
        Status status;
        Call made = prepare(arguments, status);
        detail::check(status);
        return made;
    }
    std::vector<unsigned char> pack(std::size_t index, const Buffer &matrix) const
    {
        Status status;
        std::vector<unsigned char> made = pack(index, matrix, status);
        detail::check(status);
        return made;
    }
#endif

private:
    kgen_kernel *kernel_ = nullptr;
};

// Memory of one run of a program at a time.
class Session {
public:
    Session() = default;
    Session(kgen_session *owned, kgen_program *program) noexcept
        : session_(owned), program_(program)
    {
    }
    kgen_session *get() const noexcept { return session_.get(); }
    explicit operator bool() const noexcept { return session_ != nullptr; }

    void set_input(const std::string &name, const Buffer &from, Status &status)
    {
        status.set(kgen_session_set_input(get(), name.c_str(), from.get().data, from.get().nbytes));
    }
    void run(Status &status) { status.set(kgen_session_run(get())); }
    // Return the elements of an output in the session. T has the size of an element, or one byte.
    template <class T> Span<const T> output(const std::string &name, Status &status) const
    {
        const void *data = kgen_session_output_data(get(), name.c_str());
        status.set(data == nullptr ? KGEN_ERROR_NOT_FOUND : KGEN_OK);
        for (std::size_t i = 0; data != nullptr && i < kgen_num_outputs(program_); i++) {
            const kgen_tensor *one = kgen_output(program_, i);
            if (one->name != name)
                continue;
            if (sizeof(T) == kgen_dtype_size(one->dtype) || sizeof(T) == 1)
                return Span<const T>(static_cast<const T *>(data), one->nbytes / sizeof(T));
            status.set(KGEN_ERROR_ARGUMENT, "output " + name + " is " + kgen_dtype_name(one->dtype) +
                                                "; read it as a type of that size, not of " +
                                                std::to_string(sizeof(T)) + " bytes");
        }
        return {};
    }
    // Return the shape of an output after the last run, also if it depends on data.
    std::vector<std::int64_t> output_shape(const std::string &name, Status &status) const
    {
        std::int64_t sizes[KGEN_MAX_RANK];
        status.set(kgen_session_output_shape(get(), name.c_str(), sizes));
        for (std::size_t i = 0; !status && i < kgen_num_outputs(program_); i++)
            if (kgen_output(program_, i)->name == name)
                return std::vector<std::int64_t>(sizes, sizes + kgen_output(program_, i)->rank);
        return {};
    }
    void set_state(const std::string &name, const Buffer &from, Status &status)
    {
        status.set(kgen_session_set_state(get(), name.c_str(), from.get().data, from.get().nbytes));
    }
    // Copy an array of this shape to the start of a state; zeros follow.
    void set_state_start(const std::string &name, const Buffer &from,
                         const std::vector<std::int64_t> &shape, Status &status)
    {
        for (std::size_t i = 0; i < kgen_num_states(program_); i++) {
            const kgen_tensor *one = kgen_state(program_, i);
            std::size_t nbytes = kgen_dtype_size(one->dtype);
            for (const std::int64_t size : shape)
                nbytes *= static_cast<std::size_t>(size);
            if (one->name == name && nbytes != from.get().nbytes)
                return status.set(KGEN_ERROR_ARGUMENT,
                                  name + ": an array of this shape has " + std::to_string(nbytes) +
                                      " bytes, and the call gives " +
                                      std::to_string(from.get().nbytes));
        }
        status.set(kgen_session_set_state_start(get(), name.c_str(), from.get().data, shape.data(),
                                                static_cast<int>(shape.size())));
    }
    void get_state(const std::string &name, const Buffer &into, Status &status) const
    {
        status.set(kgen_session_get_state(get(), name.c_str(), into.get().data, into.get().nbytes));
    }
    void reset() noexcept { kgen_session_reset(get()); }
    // Run once, and return the nanoseconds of each step.
    std::vector<std::int64_t> profile(Status &status)
    {
        std::vector<std::int64_t> found(kgen_num_steps(program_));
        status.set(kgen_session_profile(get(), found.data(), found.size()));
        return found;
    }
#if defined(KGEN_HPP_THROWS)
    void set_input(const std::string &name, const Buffer &from)
    {
        Status status;
        set_input(name, from, status);
        detail::check(status);
    }
    void run()
    {
        Status status;
        run(status);
        detail::check(status);
    }
    template <class T> Span<const T> output(const std::string &name) const
    {
        Status status;
        Span<const T> found = output<T>(name, status);
        detail::check(status);
        return found;
    }
    std::vector<std::int64_t> output_shape(const std::string &name) const
    {
        Status status;
        std::vector<std::int64_t> found = output_shape(name, status);
        detail::check(status);
        return found;
    }
    void set_state(const std::string &name, const Buffer &from)
    {
        Status status;
        set_state(name, from, status);
        detail::check(status);
    }
    void set_state_start(const std::string &name, const Buffer &from,
                         const std::vector<std::int64_t> &shape)
    {
        Status status;
        set_state_start(name, from, shape, status);
        detail::check(status);
    }
    void get_state(const std::string &name, const Buffer &into) const
    {
        Status status;
        get_state(name, into, status);
        detail::check(status);
    }
    std::vector<std::int64_t> profile()
    {
        Status status;
        std::vector<std::int64_t> found = profile(status);
        detail::check(status);
        return found;
    }
#endif

private:
    std::unique_ptr<kgen_session, detail::Close> session_;
    kgen_program *program_ = nullptr;
};

// Program of a bundle.
class Program {
public:
    Program() = default;
    explicit Program(kgen_program *program) noexcept : program_(program) {}
    kgen_program *get() const noexcept { return program_; }
    explicit operator bool() const noexcept { return program_ != nullptr; }

    // Empty for an empty program.
    std::string name() const { return detail::text(kgen_program_name(program_)); }
    std::string target() const { return detail::text(kgen_program_target(program_)); }
    Session session(Status &status) const
    {
        kgen_session *made = nullptr;
        status.set(kgen_session_create(program_, &made));
        return Session(made, program_);
    }
#if defined(KGEN_HPP_THROWS)
    Session session() const
    {
        Status status;
        Session made = session(status);
        detail::check(status);
        return made;
    }
#endif

private:
    kgen_program *program_ = nullptr;
};

// Open bundle.
class Bundle {
public:
    Bundle() = default;
    Bundle(const std::string &path, const kgen_options &options, Status &status)
    {
        kgen_bundle *made = nullptr;
        status.set(kgen_open(path.c_str(), &options, &made));
        bundle_.reset(made);
    }
    Bundle(Span<const unsigned char> memory, const kgen_options &options, Status &status)
    {
        kgen_bundle *made = nullptr;
        status.set(kgen_open_memory(memory.data(), memory.size(), &options, &made));
        bundle_.reset(made);
    }
    kgen_bundle *get() const noexcept { return bundle_.get(); }
    explicit operator bool() const noexcept { return bundle_ != nullptr; }

    Kernel kernel(const std::string &key, Status &status) const
    {
        kgen_kernel *found = kgen_find_kernel(get(), key.c_str());
        status.set(found == nullptr ? KGEN_ERROR_NOT_FOUND : KGEN_OK);
        return Kernel(found);
    }
    // Find a program by name; an empty name finds the only program.
    Program program(const std::string &name, Status &status) const
    {
        kgen_program *found = kgen_find_program(get(), name.empty() ? nullptr : name.c_str());
        status.set(found == nullptr ? KGEN_ERROR_NOT_FOUND : KGEN_OK);
        return Program(found);
    }
#if defined(KGEN_HPP_THROWS)
    explicit Bundle(const std::string &path, const kgen_options &options = kgen_options())
    {
        Status status;
        *this = Bundle(path, options, status);
        detail::check(status);
    }
    explicit Bundle(Span<const unsigned char> memory, const kgen_options &options = kgen_options())
    {
        Status status;
        *this = Bundle(memory, options, status);
        detail::check(status);
    }
    Kernel kernel(const std::string &key) const
    {
        Status status;
        const Kernel found = kernel(key, status);
        detail::check(status);
        return found;
    }
    Program program(const std::string &name = "") const
    {
        Status status;
        const Program found = program(name, status);
        detail::check(status);
        return found;
    }
#endif

private:
    std::unique_ptr<kgen_bundle, detail::Close> bundle_;
};

}  // namespace kgen

#endif
