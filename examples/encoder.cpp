// encoder.cpp
#include <cstdint>
#include <cstdio>
#include <exception>
#include "kgen.hpp"

int main()
try {
    const std::int64_t ids[7] = {2, 7, 1, 8, 2, 8, 1}, mask[7] = {1, 1, 1, 1, 1, 1, 1}, types[7] = {0};
    const kgen::Bundle bundle("encoder.kgen");
    kgen::Session session = bundle.program().session();
    session.set_input("input_ids", ids);
    session.set_input("attention_mask", mask);
    session.set_input("token_type_ids", types);
    session.run();

    const kgen::Span<const float> hidden = session.output<float>("last_hidden_state");
    std::printf("%.3f %.3f %.3f\n", hidden[0], hidden[1], hidden[2]);
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
