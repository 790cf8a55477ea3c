/*
 * The functions of FMI 3.0, for model exchange and co-simulation, around the equations of model.h.
 *
 * There are no states, events or clocks: outputs are functions of inputs and parameters alone.
 * Compile it to a shared library, without -ffast-math:
 * cc -shared -fPIC -O2 -ffp-contract=off fmi3.c -lm
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef uint32_t Reference;
typedef enum { OK = 0, ERROR = 3 } Status;
typedef struct {
    double value[N_VALUES];
} Instance;

#define NOTHING_TO_DO(name) \
    EXPORT Status name(void *instance) \
    { \
        return OK; \
    }
#define IMPOSSIBLE(name) \
    EXPORT Status name(void *instance) \
    { \
        return ERROR; \
    }

/* --- making and ending -------------------------------------------------------------------- */

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

EXPORT Status fmi3SetDebugLogging(void *instance, bool on, size_t n, const char *const categories[])
{
    return OK;
}

EXPORT Status fmi3Reset(void *instance)
{
    memcpy(((Instance *)instance)->value, START, sizeof START);
    return OK;
}

static void *made(const char *token)
{
    Instance *own;
    if (token == NULL || strcmp(token, TOKEN) != 0) {
        return NULL;
    }
    own = calloc(1, sizeof(Instance));
    if (own != NULL) {
        fmi3Reset(own);
    }
    return own;
}

EXPORT void *fmi3InstantiateModelExchange(const char *name, const char *token,
                                          const char *resources, bool visible, bool logging,
                                          void *environment, void (*log)(void))
{
    return made(token);
}

EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources,
                                         bool visible, bool logging, bool event_mode,
                                         bool early_return, const Reference required[],
                                         size_t n_required, void *environment, void (*log)(void),
                                         void (*update)(void))
{
    return made(token);
}

EXPORT void *fmi3InstantiateScheduledExecution(const char *name, const char *token,
                                               const char *resources, bool visible, bool logging,
                                               void *environment, void (*log)(void),
                                               void (*clock)(void), void (*lock)(void),
                                               void (*unlock)(void))
{
    return NULL;
}

EXPORT void fmi3FreeInstance(void *instance) { free(instance); }

EXPORT Status fmi3EnterInitializationMode(void *instance, bool has_tolerance, double tolerance,
                                          double start, bool has_stop, double stop)
{
    ((Instance *)instance)->value[0] = start;
    return OK;
}

NOTHING_TO_DO(fmi3ExitInitializationMode)
NOTHING_TO_DO(fmi3EnterEventMode)
NOTHING_TO_DO(fmi3Terminate)
IMPOSSIBLE(fmi3EnterConfigurationMode)
IMPOSSIBLE(fmi3ExitConfigurationMode)

/* --- variables ---------------------------------------------------------------------------- */

EXPORT Status fmi3GetFloat64(void *instance, const Reference reference[], size_t n, double value[],
                             size_t n_values)
{
    Instance *own = instance;
    size_t i;
    if (n != n_values) {
        return ERROR;
    }
    evaluate(own->value);
    for (i = 0; i < n; i++) {
        if (reference[i] >= N_VALUES) {
            return ERROR;
        }
        value[i] = own->value[reference[i]];
    }
    return OK;
}

EXPORT Status fmi3SetFloat64(void *instance, const Reference reference[], size_t n,
                             const double value[], size_t n_values)
{
    Instance *own = instance;
    size_t i;
    if (n != n_values) {
        return ERROR;
    }
    for (i = 0; i < n; i++) {
        if (reference[i] < 1 || reference[i] >= FIRST_OUTPUT) {
            return ERROR;
        }
        own->value[reference[i]] = value[i];
    }
    return OK;
}

#define NO_VARIABLES(type, name) \
    EXPORT Status fmi3Get##name(void *instance, const Reference reference[], size_t n, \
                                type value[], size_t n_values) \
    { \
        return n == 0 ? OK : ERROR; \
    } \
    EXPORT Status fmi3Set##name(void *instance, const Reference reference[], size_t n, \
                                type const value[], size_t n_values) \
    { \
        return n == 0 ? OK : ERROR; \
    }
NO_VARIABLES(float, Float32)
NO_VARIABLES(int8_t, Int8)
NO_VARIABLES(uint8_t, UInt8)
NO_VARIABLES(int16_t, Int16)
NO_VARIABLES(uint16_t, UInt16)
NO_VARIABLES(int32_t, Int32)
NO_VARIABLES(uint32_t, UInt32)
NO_VARIABLES(int64_t, Int64)
NO_VARIABLES(uint64_t, UInt64)
NO_VARIABLES(bool, Boolean)
NO_VARIABLES(const char *, String)

#define NO_BINARY(name) \
    EXPORT Status name(void *instance, const Reference reference[], size_t n, \
                       const size_t sizes[], const uint8_t *const value[], size_t n_values) \
    { \
        return n == 0 ? OK : ERROR; \
    }
NO_BINARY(fmi3GetBinary)
NO_BINARY(fmi3SetBinary)

#define NO_CLOCKS(name, ...) \
    EXPORT Status name(void *instance, const Reference reference[], size_t n, __VA_ARGS__) \
    { \
        return n == 0 ? OK : ERROR; \
    }
NO_CLOCKS(fmi3GetClock, bool value[])
NO_CLOCKS(fmi3SetClock, const bool value[])
NO_CLOCKS(fmi3GetIntervalDecimal, double value[], int qualifier[])
NO_CLOCKS(fmi3GetIntervalFraction, uint64_t counter[], uint64_t resolution[], int qualifier[])
NO_CLOCKS(fmi3GetShiftDecimal, double value[])
NO_CLOCKS(fmi3GetShiftFraction, uint64_t counter[], uint64_t resolution[])
NO_CLOCKS(fmi3SetIntervalDecimal, const double value[])
NO_CLOCKS(fmi3SetIntervalFraction, const uint64_t counter[], const uint64_t resolution[])
NO_CLOCKS(fmi3SetShiftDecimal, const double value[])
NO_CLOCKS(fmi3SetShiftFraction, const uint64_t counter[], const uint64_t resolution[])

/* --- dependencies, and the state: the values of all variables ----------------------------- */

EXPORT Status fmi3GetNumberOfVariableDependencies(void *instance, Reference reference, size_t *n)
{
    return ERROR;
}

EXPORT Status fmi3GetVariableDependencies(void *instance, Reference dependent, size_t elements[],
                                          Reference independents[], size_t others[], int kinds[],
                                          size_t n)
{
    return ERROR;
}

EXPORT Status fmi3GetFMUState(void *instance, void **state)
{
    if (*state == NULL) {
        *state = malloc(sizeof(Instance));
    }
    if (*state == NULL) {
        return ERROR;
    }
    memcpy(*state, instance, sizeof(Instance));
    return OK;
}

EXPORT Status fmi3SetFMUState(void *instance, void *state)
{
    memcpy(instance, state, sizeof(Instance));
    return OK;
}

EXPORT Status fmi3FreeFMUState(void *instance, void **state)
{
    free(*state);
    *state = NULL;
    return OK;
}

EXPORT Status fmi3SerializedFMUStateSize(void *instance, void *state, size_t *size)
{
    *size = sizeof(Instance);
    return OK;
}

EXPORT Status fmi3SerializeFMUState(void *instance, void *state, uint8_t bytes[], size_t size)
{
    if (size < sizeof(Instance)) {
        return ERROR;
    }
    memcpy(bytes, state, sizeof(Instance));
    return OK;
}

EXPORT Status fmi3DeserializeFMUState(void *instance, const uint8_t bytes[], size_t size,
                                      void **state)
{
    if (size != sizeof(Instance) || fmi3GetFMUState(instance, state) != OK) {
        return ERROR;
    }
    memcpy(*state, bytes, sizeof(Instance));
    return OK;
}

#define NO_DERIVATIVES(name) \
    EXPORT Status name(void *instance, const Reference unknowns[], size_t n_unknowns, \
                       const Reference knowns[], size_t n_knowns, const double seed[], \
                       size_t n_seed, double sensitivity[], size_t n_sensitivity) \
    { \
        return ERROR; \
    }
NO_DERIVATIVES(fmi3GetDirectionalDerivative)
NO_DERIVATIVES(fmi3GetAdjointDerivative)

/* --- model exchange ----------------------------------------------------------------------- */

NOTHING_TO_DO(fmi3EvaluateDiscreteStates)
NOTHING_TO_DO(fmi3EnterContinuousTimeMode)

EXPORT Status fmi3UpdateDiscreteStates(void *instance, bool *again, bool *end, bool *nominals,
                                       bool *values, bool *has_next, double *next)
{
    *again = *end = *nominals = *values = *has_next = false;
    *next = 0.0;
    return OK;
}

EXPORT Status fmi3CompletedIntegratorStep(void *instance, bool final, bool *event, bool *end)
{
    *event = *end = false;
    return OK;
}

EXPORT Status fmi3SetTime(void *instance, double time)
{
    ((Instance *)instance)->value[0] = time;
    return OK;
}

EXPORT Status fmi3SetContinuousStates(void *instance, const double x[], size_t n)
{
    return n == 0 ? OK : ERROR;
}

#define NO_STATES(name) \
    EXPORT Status name(void *instance, double value[], size_t n) \
    { \
        return n == 0 ? OK : ERROR; \
    }
NO_STATES(fmi3GetContinuousStateDerivatives)
NO_STATES(fmi3GetEventIndicators)
NO_STATES(fmi3GetContinuousStates)
NO_STATES(fmi3GetNominalsOfContinuousStates)

EXPORT Status fmi3GetNumberOfEventIndicators(void *instance, size_t *n)
{
    *n = 0;
    return OK;
}

EXPORT Status fmi3GetNumberOfContinuousStates(void *instance, size_t *n)
{
    *n = 0;
    return OK;
}

/* --- co-simulation ------------------------------------------------------------------------ */

NOTHING_TO_DO(fmi3EnterStepMode)

EXPORT Status fmi3GetOutputDerivatives(void *instance, const Reference reference[], size_t n,
                                       const int32_t orders[], double value[], size_t n_values)
{
    return n == 0 ? OK : ERROR;
}

EXPORT Status fmi3DoStep(void *instance, double point, double step, bool final, bool *event,
                         bool *end, bool *early, double *reached)
{
    *event = *end = *early = false;
    *reached = ((Instance *)instance)->value[0] = point + step;
    return OK;
}

EXPORT Status fmi3ActivateModelPartition(void *instance, Reference clock, double time)
{
    return ERROR;
}
