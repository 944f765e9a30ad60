// encoder.cpp
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include "kgen.h"

static void check(kgen_status status)
{
    if (status != KGEN_OK)
        throw std::runtime_error(kgen_last_error());
}

int main()
{
    const std::int64_t ids[7] = {2, 7, 1, 8, 2, 8, 1}, mask[7] = {1, 1, 1, 1, 1, 1, 1}, types[7] = {0};
    kgen_bundle *bundle = nullptr;
    kgen_session *session = nullptr;
    check(kgen_open("encoder.kgen", nullptr, &bundle));
    std::unique_ptr<kgen_bundle, decltype(&kgen_close)> bundle_owner(bundle, kgen_close);
    check(kgen_session_create(kgen_find_program(bundle, nullptr), &session));
    std::unique_ptr<kgen_session, decltype(&kgen_session_destroy)> session_owner(session, kgen_session_destroy);
    check(kgen_session_set_input(session, "input_ids", ids, sizeof ids));
    check(kgen_session_set_input(session, "attention_mask", mask, sizeof mask));
    check(kgen_session_set_input(session, "token_type_ids", types, sizeof types));
    check(kgen_session_run(session));

    auto hidden = static_cast<const float *>(kgen_session_output_data(session, "last_hidden_state"));
    std::printf("%.3f %.3f %.3f\n", hidden[0], hidden[1], hidden[2]);
}
