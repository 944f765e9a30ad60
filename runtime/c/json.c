/* Strict JSON parser (RFC 8259) with limits on size and nesting. The rules are in
 * docs/reference/bundle-format.md. */
#include "internal.h"


#include <stdlib.h>
#include <string.h>

/* Largest nesting of lists and objects, and largest number of characters of a number. */
enum { MAX_DEPTH = KGEN_MOST_NESTING, MAX_NUMBER = 32 };
/* First digits of 2^1024 - 2^970, which has 309 digits: numbers from there on round to infinity
 * in f64. The text has more digits than a number may have, so no number equals it. */
static const char FIRST_INFINITE[] = "179769313486231580793728971405303415079934";
enum { MAX_EXPONENT = 308 }; /* of the first digit */

typedef struct reader {
    const char *start, *at, *end;
    arena *memory;
} reader;

static kgen_status parse_value(reader *from, int depth, json *into);

static kgen_status refused(const reader *from, const char *why)
{
    return kgen_bundle_error("manifest.json is not JSON: %s at byte %zu", why,
                             (size_t)(from->at - from->start));
}

static int next(const reader *from)
{
    return from->at < from->end ? (unsigned char)*from->at : -1;
}

static void skip_blanks(reader *from)
{
    while (from->at < from->end && strchr(" \t\r\n", *from->at) != NULL && *from->at != 0)
        from->at++;
}

static bool skip_word(reader *from, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(from->end - from->at) < length || memcmp(from->at, word, length) != 0)
        return false;
    from->at += length;
    return true;
}

static bool is_digit(int c)
{
    return '0' <= c && c <= '9';
}

static bool skip_digits(reader *from)
{
    if (!is_digit(next(from)))
        return false;
    while (is_digit(next(from)))
        from->at++;
    return true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Convert digits that were skipped to a 64-bit number; return false on overflow. */
static bool whole(const char *digits, const char *end, bool negative, int64_t *value)
{
    *value = 0;
    for (; digits < end; digits++) {
        int digit = *digits - '0';
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, negative ? -digit : digit, value))
            return false;
    }
    return true;
}

/* Return whether a syntactically valid number is finite in f64. */
static bool is_finite(const char *at, const char *end)
{
    char digits[MAX_NUMBER];
    size_t count = 0;
    /* Power of ten of the first digit other than 0, relative to the decimal point. */
    int64_t power = 0, exponent = 0;
    bool is_behind = false; /* after the decimal point */
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (!is_digit(*at)) {
            is_behind = is_behind || *at == '.';
            continue;
        }
        if (count > 0 || *at != '0')
            digits[count++] = *at;
        if (is_behind)
            power -= count == 0 || (count == 1 && *at != '0');
        else
            power += count > 1;
    }
    if (count == 0)
        return true;
    if (at < end) {
        bool negative = at[1] == '-';
        const char *first = at + 1 + (at[1] == '-' || at[1] == '+');
        if (!whole(first, end, negative, &exponent))
            exponent = negative ? -(1 << 20) : 1 << 20;
    }
    int64_t order;
    if (__builtin_add_overflow(power, exponent, &order))
        order = exponent;
    if (order != MAX_EXPONENT)
        return order < MAX_EXPONENT;
    return memcmp(digits, FIRST_INFINITE, count) <= 0;
}

static kgen_status read_number(reader *from, json *into)
{
    const char *start = from->at;
    bool negative = skip_word(from, "-");
    const char *digits = from->at;
    if (!skip_word(from, "0") && !skip_digits(from))
        return refused(from, "no value");
    const char *end = from->at;
    into->kind = JSON_INT;
    if (skip_word(from, ".")) {
        into->kind = JSON_FLOAT;
        if (!skip_digits(from))
            return refused(from, "no digit");
    }
    if (next(from) == 'e' || next(from) == 'E') {
        into->kind = JSON_FLOAT;
        from->at++;
        if (!skip_word(from, "+"))
            skip_word(from, "-");
        if (!skip_digits(from))
            return refused(from, "no digit");
    }
    if (into->kind == JSON_INT && !whole(digits, end, negative, &into->as.integer))
        return refused(from, "a number of more than 64 bits");
    if (from->at - start > MAX_NUMBER)
        return refused(from, "a number of more than 32 characters");
    if (into->kind == JSON_FLOAT && !is_finite(start, from->at))
        return refused(from, "a number beyond f64");
    return KGEN_OK;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Decode the UTF-8 character at `at`. Return its bytes, or 0 if it is not valid, such as an
 * overlong form. */
static int character_bytes(const unsigned char *at, const unsigned char *end, uint32_t *code)
{
    int count = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
    if (count == 0 || end - at < count)
        return 0;
    *code = count == 1 ? *at : *at & (0x7fu >> count);
    for (int i = 1; i < count; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        *code = *code << 6 | (at[i] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = 0xd800 <= *code && *code < 0xe000;
    return *code < least[count] || *code > 0x10ffff || surrogate ? 0 : count;
}

/* Return whether a character is a control character, ends a line, or changes the text direction. */
static bool is_control(uint32_t code)
{
    return code < ' ' || (0x7f <= code && code < 0xa0) || (0x2028 <= code && code <= 0x202e) ||
           (0x2066 <= code && code <= 0x2069);
}

static char *put_character(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

static bool read_hex(reader *from, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, from->at++) {
        int c = next(from);
        int digit = is_digit(c) ? c - '0'
                    : 'a' <= c && c <= 'f' ? c - 'a' + 10
                    : 'A' <= c && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

/* Read the part of an escape sequence after the backslash. */
static bool read_escape(reader *from, uint32_t *code)
{
    int c = next(from);
    if (c < 0)
        return false;
    from->at++;
    if (c != 'u') {
        *code = (uint32_t)c;
        return c == '"' || c == '\\' || c == '/';
    }
    uint32_t low;
    if (!read_hex(from, code))
        return false;
    if (*code < 0xd800 || *code >= 0xe000)
        return true;
    if (*code >= 0xdc00 || !skip_word(from, "\\u") || !read_hex(from, &low) || low < 0xdc00 ||
        low >= 0xe000)
        return false;
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* Read a text; `from` is after the opening quote. */
static kgen_status read_text(reader *from, const char **text)
{
    const char *close = from->at;
    while (close < from->end && *close != '"')
        close += *close == '\\' && from->end - close > 1 ? 2 : 1;
    if (close >= from->end)
        return refused(from, "a text without an end");
    /* No escape sequence is shorter than its character. */
    char *to = (char *)kgen_alloc(from->memory, (size_t)(close - from->at) + 1, 1);
    if (to == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    *text = to;
    while (from->at < close) {
        uint32_t code = 0;
        if (skip_word(from, "\\")) {
            if (!read_escape(from, &code))
                return refused(from, "a text that cannot be printed");
        } else {
            int count = character_bytes((const unsigned char *)from->at,
                                        (const unsigned char *)close, &code);
            if (count == 0)
                return refused(from, "a text that is not UTF-8");
            from->at += count;
        }
        if (is_control(code))
            return refused(from, "a text that cannot be printed");
        to = put_character(to, code);
    }
    from->at = close + 1;
    return KGEN_OK;
}

/* ---- lists and objects ----------------------------------------------------------------------- */

static kgen_status read_member(reader *from, int depth, json *into)
{
    skip_blanks(from);
    if (!skip_word(from, "\""))
        return refused(from, "no name of a member");
    TRY(read_text(from, &into->name));
    skip_blanks(from);
    if (!skip_word(from, ":"))
        return refused(from, "no colon");
    return parse_value(from, depth, into);
}

/* Refuse an object with two members of one name. */
static kgen_status check_member_names(const reader *from, const json *object)
{
    if (object->count < 2)
        return KGEN_OK;
    const char **names = (const char **)calloc(object->count, sizeof *names);
    if (names == NULL)
        return kgen_no_memory(object->count * sizeof *names);
    size_t count = 0;
    for (const json *one = object->as.first; one != NULL; one = one->next)
        names[count++] = one->name;
    qsort(names, count, sizeof *names, kgen_by_text);
    kgen_status status = KGEN_OK;
    for (size_t i = 1; i < count && status == KGEN_OK; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status = kgen_bundle_error("manifest.json is not JSON: '%.60s' occurs twice in one "
                                       "object, which ends at byte %zu", names[i],
                                       (size_t)(from->at - from->start));
    free(names);
    return status;
}

static kgen_status parse_several(reader *from, int depth, json *into, const char *close)
{
    if (depth == MAX_DEPTH)
        return refused(from, "more than 32 levels of nesting");
    skip_blanks(from);
    if (skip_word(from, close))
        return KGEN_OK;
    json **place = &into->as.first;
    do {
        json *one = *place = (json *)kgen_alloc(from->memory, 1, sizeof **place);
        if (one == NULL)
            return KGEN_ERROR_OUT_OF_MEMORY;
        TRY(into->kind == JSON_OBJECT ? read_member(from, depth + 1, one)
                                      : parse_value(from, depth + 1, one));
        place = &one->next;
        into->count++;
        skip_blanks(from);
    } while (skip_word(from, ","));
    if (!skip_word(from, close))
        return refused(from, "no comma and no end");
    return into->kind == JSON_OBJECT ? check_member_names(from, into) : KGEN_OK;
}

static kgen_status parse_value(reader *from, int depth, json *into)
{
    skip_blanks(from);
    if (skip_word(from, "{")) {
        into->kind = JSON_OBJECT;
        return parse_several(from, depth, into, "}");
    }
    if (skip_word(from, "[")) {
        into->kind = JSON_LIST;
        return parse_several(from, depth, into, "]");
    }
    if (skip_word(from, "\"")) {
        into->kind = JSON_TEXT;
        return read_text(from, &into->as.text);
    }
    if (skip_word(from, "null")) {
        into->kind = JSON_NULL;
        return KGEN_OK;
    }
    into->kind = JSON_BOOL;
    if (skip_word(from, "true")) {
        into->as.integer = 1;
        return KGEN_OK;
    }
    return skip_word(from, "false") ? KGEN_OK : read_number(from, into);
}

kgen_status kgen_json_parse(const char *text, size_t nbytes, arena *memory, const json **value)
{
    reader from = {text, text, text + nbytes, memory};
    json *made;
    ALLOC(made, memory, 1);
    TRY(parse_value(&from, 0, made));
    skip_blanks(&from);
    if (from.at < from.end)
        return refused(&from, "something behind its end");
    *value = made;
    return KGEN_OK;
}

const json *kgen_json_member(const json *object, const char *name)
{
    if (object->kind == JSON_OBJECT)
        for (const json *one = object->as.first; one != NULL; one = one->next)
            if (strcmp(one->name, name) == 0)
                return one;
    return NULL;
}
