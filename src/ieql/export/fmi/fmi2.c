/*
 * The functions of FMI 2.0, for model exchange and co-simulation, around the equations of model.h.
 *
 * There are no states and no events: outputs are functions of inputs and parameters alone. Compile
 * it to a shared library, without -ffast-math: cc -shared -fPIC -O2 -ffp-contract=off fmi2.c -lm
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef unsigned int Reference;
typedef enum { OK = 0, ERROR = 3 } Status;
typedef struct {
    int new_discrete_states_needed, terminate, nominals_changed, values_changed;
    int next_event_time_defined;
    double next_event_time;
} EventInfo;
typedef struct {
    double value[N_VALUES];
    double reached;
} Instance;

/* --- making and ending -------------------------------------------------------------------- */

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }

EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

EXPORT Status fmi2Reset(void *instance)
{
    Instance *own = instance;
    memcpy(own->value, START, sizeof START);
    own->reached = 0.0;
    return OK;
}

EXPORT void *fmi2Instantiate(const char *name, int type, const char *token, const char *resources,
                             const void *callbacks, int visible, int logging)
{
    Instance *own;
    if (token == NULL || strcmp(token, TOKEN) != 0) {
        return NULL;
    }
    own = calloc(1, sizeof(Instance));
    if (own != NULL) {
        fmi2Reset(own);
    }
    return own;
}

EXPORT void fmi2FreeInstance(void *instance) { free(instance); }

EXPORT Status fmi2SetDebugLogging(void *instance, int on, size_t n, const char *const categories[])
{
    return OK;
}

EXPORT Status fmi2SetupExperiment(void *instance, int has_tolerance, double tolerance, double start,
                                  int has_stop, double stop)
{
    Instance *own = instance;
    own->value[0] = own->reached = start;
    return OK;
}

#define NOTHING_TO_DO(name) \
    EXPORT Status name(void *instance) \
    { \
        return OK; \
    }
NOTHING_TO_DO(fmi2EnterInitializationMode)
NOTHING_TO_DO(fmi2ExitInitializationMode)
NOTHING_TO_DO(fmi2Terminate)
NOTHING_TO_DO(fmi2EnterEventMode)
NOTHING_TO_DO(fmi2EnterContinuousTimeMode)

/* --- variables ---------------------------------------------------------------------------- */

EXPORT Status fmi2GetReal(void *instance, const Reference reference[], size_t n, double value[])
{
    Instance *own = instance;
    size_t i;
    evaluate(own->value);
    for (i = 0; i < n; i++) {
        if (reference[i] >= N_VALUES) {
            return ERROR;
        }
        value[i] = own->value[reference[i]];
    }
    return OK;
}

EXPORT Status fmi2SetReal(void *instance, const Reference reference[], size_t n,
                          const double value[])
{
    Instance *own = instance;
    size_t i;
    for (i = 0; i < n; i++) {
        if (reference[i] < 1 || reference[i] >= FIRST_OUTPUT) {
            return ERROR;
        }
        own->value[reference[i]] = value[i];
    }
    return OK;
}

#define NO_VARIABLES(type, name) \
    EXPORT Status fmi2Get##name(void *instance, const Reference reference[], size_t n, \
                                type value[]) \
    { \
        return n == 0 ? OK : ERROR; \
    } \
    EXPORT Status fmi2Set##name(void *instance, const Reference reference[], size_t n, \
                                type const value[]) \
    { \
        return n == 0 ? OK : ERROR; \
    }
NO_VARIABLES(int, Integer)
NO_VARIABLES(int, Boolean)
NO_VARIABLES(const char *, String)

/* --- the state: the values of all variables ----------------------------------------------- */

EXPORT Status fmi2GetFMUstate(void *instance, void **state)
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

EXPORT Status fmi2SetFMUstate(void *instance, void *state)
{
    memcpy(instance, state, sizeof(Instance));
    return OK;
}

EXPORT Status fmi2FreeFMUstate(void *instance, void **state)
{
    free(*state);
    *state = NULL;
    return OK;
}

EXPORT Status fmi2SerializedFMUstateSize(void *instance, void *state, size_t *size)
{
    *size = sizeof(Instance);
    return OK;
}

EXPORT Status fmi2SerializeFMUstate(void *instance, void *state, char bytes[], size_t size)
{
    if (size < sizeof(Instance)) {
        return ERROR;
    }
    memcpy(bytes, state, sizeof(Instance));
    return OK;
}

EXPORT Status fmi2DeSerializeFMUstate(void *instance, const char bytes[], size_t size, void **state)
{
    if (size != sizeof(Instance)) {
        return ERROR;
    }
    if (*state == NULL) {
        *state = malloc(sizeof(Instance));
    }
    if (*state == NULL) {
        return ERROR;
    }
    memcpy(*state, bytes, sizeof(Instance));
    return OK;
}

EXPORT Status fmi2GetDirectionalDerivative(void *instance, const Reference unknown[], size_t n,
                                           const Reference known[], size_t m, const double d[],
                                           double value[])
{
    return ERROR;
}

/* --- model exchange ----------------------------------------------------------------------- */

EXPORT Status fmi2NewDiscreteStates(void *instance, EventInfo *info)
{
    memset(info, 0, sizeof *info);
    return OK;
}

EXPORT Status fmi2CompletedIntegratorStep(void *instance, int final, int *event, int *end)
{
    *event = *end = 0;
    return OK;
}

EXPORT Status fmi2SetTime(void *instance, double time)
{
    ((Instance *)instance)->value[0] = time;
    return OK;
}

EXPORT Status fmi2SetContinuousStates(void *instance, const double x[], size_t n)
{
    return n == 0 ? OK : ERROR;
}

#define NO_STATES(name) \
    EXPORT Status name(void *instance, double value[], size_t n) \
    { \
        return n == 0 ? OK : ERROR; \
    }
NO_STATES(fmi2GetDerivatives)
NO_STATES(fmi2GetEventIndicators)
NO_STATES(fmi2GetContinuousStates)
NO_STATES(fmi2GetNominalsOfContinuousStates)

/* --- co-simulation ------------------------------------------------------------------------ */

EXPORT Status fmi2DoStep(void *instance, double point, double step, int final)
{
    Instance *own = instance;
    own->value[0] = own->reached = point + step;
    return OK;
}

NOTHING_TO_DO(fmi2CancelStep)

EXPORT Status fmi2SetRealInputDerivatives(void *instance, const Reference reference[], size_t n,
                                          const int order[], const double value[])
{
    return n == 0 ? OK : ERROR;
}

EXPORT Status fmi2GetRealOutputDerivatives(void *instance, const Reference reference[], size_t n,
                                           const int order[], double value[])
{
    return n == 0 ? OK : ERROR;
}

EXPORT Status fmi2GetStatus(void *instance, int kind, Status *value)
{
    *value = OK;
    return OK;
}

EXPORT Status fmi2GetRealStatus(void *instance, int kind, double *value)
{
    *value = ((Instance *)instance)->reached;
    return OK;
}

EXPORT Status fmi2GetIntegerStatus(void *instance, int kind, int *value)
{
    return ERROR;
}

EXPORT Status fmi2GetBooleanStatus(void *instance, int kind, int *value)
{
    *value = 0;
    return OK;
}

EXPORT Status fmi2GetStringStatus(void *instance, int kind, const char **value)
{
    *value = "";
    return OK;
}
