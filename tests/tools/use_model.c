/* A program that evaluates the model that its argument names: gsa/driver.h of an installed tree. */
#include <gsa/driver.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    gsa_error error = { 0 };
    char *result = NULL;
    const gsa_apply_options options = { .model = argc > 1 ? argv[1] : "out/small",
                                        .device = "auto" };
    if (gsa_evaluate(NULL, &options, &result, &error))
        return fprintf(stderr, "%s\n", error.text), 1;
    puts(result);
    gsa_release(NULL, result);
    return 0;
}
