// Electrons and positrons of Monte Carlo with electrons (transport/charged.rs, hinge.rs and hard.rs, name for name).

#pragma once

#include "mc.cuh"

constexpr unsigned STEP_BUDGET = 200000u;

// Electron or positron on its way. Energies are in quanta.
struct Track {
    float position_cm[3], direction[3];
    int cell[3], voxel;
    unsigned quanta, weight, charge;
    Draws draws;
    unsigned loss_to_hinge, step_loss, loss_after;
    float mean_free_paths;
    unsigned word;     // of its voxel
    unsigned unscored; // quanta left in its voxel since it came into it
    unsigned steps;
    float hard_bound_cm2_g; // at the collision that it waits for
};

__device__ inline unsigned cut_off_of(const McRun& run, unsigned voxel) { return is_near_gas(voxel) ? run.gas_cut_off : run.cut_off; }

// First hinge of a particle, which loses `step_loss` of its energy a step.
__device__ inline void new_hinge(const McRun& run, Track& track, unsigned quanta, float u)
{
    track.step_loss = __float2uint_rn((float)quanta * run.step_loss);
    track.loss_to_hinge = min(__float2uint_rn((float)track.step_loss * u), track.step_loss);
    track.loss_after = track.step_loss - track.loss_to_hinge;
}

// The energy of a hard collision leaves a track; the hinge scales with what is left.
__device__ inline void lose(Track& track, unsigned quanta)
{
    unsigned left = track.quanta - min(quanta, track.quanta);
    float ratio = (float)left / (float)track.quanta;
    track.loss_to_hinge = __float2uint_rn((float)track.loss_to_hinge * ratio);
    track.step_loss = __float2uint_rn((float)track.step_loss * ratio);
    track.loss_after = min(__float2uint_rn((float)track.loss_after * ratio), track.step_loss);
    track.quanta = left;
}

__device__ inline void score(const McRun& run, Track& track)
{
    deposit(run, track.voxel, (unsigned long long)track.unscored * track.weight);
    track.unscored = 0u;
}

// A photon goes into its queue; with splitting one of as many does.
__device__ inline void emit_photon(const McRun& run, const McQueue& photons, Track& track, unsigned quanta, const float direction[3])
{
    if (quanta < run.photon_cut_off) {
        track.unscored += scored(run, class_of(track.word), ELECTRON_CHARGE, mev_of(quanta), quanta);
        return;
    }
    uint4 words = track.draws.words();
    if (run.splitting > 1u && uniform(words.z) * (float)run.splitting >= 1.0f) {
        return;
    }
    McParticle p = {{track.position_cm[0], track.position_cm[1], track.position_cm[2]},
                    {direction[0], direction[1], direction[2]},
                    quanta,
                    track.weight,
                    0u,
                    {words.x, words.y}};
    push(run, photons, p);
}

// Leaves what a track has; a positron annihilates at rest.
__device__ inline void end_track(const McRun& run, const McQueue& photons, Track& track)
{
    track.unscored += scored(run, class_of(track.word), track.charge, mev_of(track.quanta), track.quanta);
    if (track.charge == POSITRON_CHARGE) {
        uint4 words = track.draws.words();
        float direction[3] = {0.0f, 0.0f, 1.0f};
        deflect(direction, 2.0f * uniform(words.x), TAU * uniform(words.y));
        emit_photon(run, photons, track, REST_QUANTA, direction);
        direction[0] = -direction[0];
        direction[1] = -direction[1];
        direction[2] = -direction[2];
        emit_photon(run, photons, track, REST_QUANTA, direction);
    }
    score(run, track);
}

// 1 - cos after a path of `path` first transport mean free paths: nodes by lot (transport/tables/angles.rs).
__device__ inline float multiple_scattering(const McRun& run, unsigned material, float ln_energy, float path, float2 lot, float u)
{
    constexpr float LEAST_PATH = 2e-3f, GREATEST_PATH = 2.0f, LN2 = 0.693147181f;
    float energy_position = (ln_energy + 6.0f * LN2) * ((float)(ANGLE_ENERGIES - 1) / (11.0f * LN2));
    energy_position = fminf(fmaxf(energy_position, 0.0f), (float)(ANGLE_ENERGIES - 1));
    int energy = min((int)energy_position, ANGLE_ENERGIES - 2);
    energy += lot.x < energy_position - (float)energy ? 1 : 0;
    constexpr float LN_SPAN = 6.90775528f; // of the paths
    float within = fminf(fmaxf(path, LEAST_PATH), GREATEST_PATH);
    int low = min((int)(__logf(within * (1.0f / LEAST_PATH)) * ((float)(ANGLE_PATHS - 1) / LN_SPAN)), ANGLE_PATHS - 2);
    float path_low = LEAST_PATH * __expf((float)low * (LN_SPAN / (float)(ANGLE_PATHS - 1)));
    constexpr float RATIO = 1.29154967f; // between paths
    float fraction = __fdividef(within - path_low, path_low * (RATIO - 1.0f));
    int row = ((int)material * ANGLE_ENERGIES + energy) * ANGLE_PATHS + low + (lot.y < fraction ? 1 : 0);
    float s = 1.0f - exp2f(__log2f(1.0f - u) * (1.0f / 3.0f));
    float position = s * (float)(ANGLE_NODES - 1);
    int node = min((int)position, ANGLE_NODES - 2);
    const float* values = run.tables.angles + row * ANGLE_NODES + node;
    float v = between(__ldg(values), __ldg(values + 1), position - (float)node);
    float one_minus_cos = __fdividef(2.0f * v, 1.0f + __ldg(run.tables.bends + row) * (1.0f - v));
    return one_minus_cos * fminf(path * (1.0f / LEAST_PATH), 1.0f);
}

// Turns a track at its hinge, by the path K = loss kappa/L in the medium there.
__device__ inline void turn(const McRun& run, Track& track)
{
    unsigned material = class_of(track.word);
    float before = (float)(track.step_loss - track.loss_after), after = (float)track.loss_after;
    float middle_mev = ((float)track.quanta + 0.5f * (before - after)) * QUANTUM_MEV;
    float4 row = charged_at(run, material, track.charge, middle_mev);
    float path = __fdividef(mev_of(track.step_loss) * row.y, row.x);
    uint4 words = track.draws.words();
    float one_minus_cos = multiple_scattering(run, material, row.w, path, lots(words.x), uniform(words.y));
    deflect(track.direction, one_minus_cos, TAU * uniform(words.z));
    // The rest of its step, then a part of the next.
    unsigned remainder = track.loss_after;
    new_hinge(run, track, track.quanta - min(remainder, track.quanta), uniform(words.w));
    track.loss_to_hinge += remainder;
}

// Fate of a track.
constexpr int GOES = 0, COLLIDES = 1, ENDED = 2;

// Takes a track through a face; where the cut-off behind is above its energy it ends before the face.
__device__ inline int cross_face(const McRun& run, const McQueue& photons, Track& track, int axis)
{
    bool forward = (axis == 0 ? track.direction[0] : axis == 1 ? track.direction[1] : track.direction[2]) > 0.0f;
    int stride = axis == 0 ? 1 : axis == 1 ? run.size[0] : run.size[0] * run.size[1];
    int next = (axis == 0 ? track.cell[0] : axis == 1 ? track.cell[1] : track.cell[2]) + (forward ? 1 : -1);
    int count = axis == 0 ? run.size[0] : axis == 1 ? run.size[1] : run.size[2];
    if (next < 0 || next >= count) {
        score(run, track);
        return ENDED;
    }
    int voxel = track.voxel + (forward ? stride : -stride);
    unsigned word = __ldg(run.voxels + voxel);
    if (track.quanta <= cut_off_of(run, word)) {
        end_track(run, photons, track);
        return ENDED;
    }
    score(run, track);
    // The point lies on the face exactly: the cell says where the track is.
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        if (a == axis) {
            track.position_cm[a] = (float)(track.cell[a] + (forward ? 1 : 0)) * run.spacing_cm[a];
            track.cell[a] = next;
        }
    }
    track.voxel = voxel;
    track.word = word;
    return GOES;
}

// One step to the nearest of a face, the loss of the hinge or the cut-off, and a hard collision.
__device__ inline int step(const McRun& run, const McQueue& photons, Track& track)
{
    float face_cm = __int_as_float(0x7f800000);
    int axis = 0;
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        float side = (float)(track.cell[a] + (track.direction[a] > 0.0f ? 1 : 0)) * run.spacing_cm[a];
        float distance = __fdividef(side - track.position_cm[a], track.direction[a]);
        if (track.direction[a] != 0.0f && distance < face_cm) {
            face_cm = distance;
            axis = a;
        }
    }
    // Rounding may leave a point beyond its face by the last bit.
    face_cm = fmaxf(face_cm, 0.0f);
    float density = density_of(track.word);
    if (density <= 0.0f) {
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            track.position_cm[a] += track.direction[a] * face_cm;
        }
        return cross_face(run, photons, track, axis);
    }
    unsigned material = class_of(track.word);
    float mev = mev_of(track.quanta);
    unsigned greatest_loss = min(track.loss_to_hinge, track.quanta - cut_off_of(run, track.word));
    float greatest_mev = mev_of(greatest_loss);
    float4 row = charged_at(run, material, track.charge, mev);
    float loss_cm = __fdividef(greatest_mev, density * soft_loss(run, material, track.charge, mev - 0.5f * greatest_mev));
    float hard_bound = run.tables.collision_bound_cm2_g[material][track.charge] + row.z;
    float hard_per_cm = density * hard_bound;
    float hard_cm = __fdividef(track.mean_free_paths, hard_per_cm);
    float distance = loss_cm;
    int limit = 0;
    if (hard_cm < distance) {
        limit = 1;
        distance = hard_cm;
    }
    if (face_cm < distance) {
        limit = 2;
        distance = face_cm;
    }
    unsigned loss = greatest_loss;
    if (limit != 0) {
        float path = density * distance;
        float half_mev = 0.5f * path * row.x;
        loss = min(quanta_of(path * soft_loss(run, material, track.charge, mev - half_mev)), greatest_loss);
    }
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        track.position_cm[a] += track.direction[a] * distance;
    }
    track.unscored += scored(run, material, track.charge, mev - 0.5f * mev_of(loss), loss);
    track.quanta -= loss;
    track.loss_to_hinge -= loss;
    track.mean_free_paths -= distance * hard_per_cm;
    if (limit == 2) {
        return cross_face(run, photons, track, axis);
    }
    if (limit == 1) {
        track.hard_bound_cm2_g = hard_bound;
        return COLLIDES;
    }
    // Tested first: at the cut-off there is no hinge any more.
    if (track.quanta <= cut_off_of(run, track.word)) {
        end_track(run, photons, track);
        return ENDED;
    }
    turn(run, track);
    return GOES;
}

// Cross section of knock-on electrons (particles/hard/moller.rs and bhabha.rs), cm2/g.
__device__ inline float knock_on_cm2_g(float scale_cm2_mev_g, unsigned charge, float mev, float threshold_mev)
{
    float tau = mev / MASS_MEV, gamma = tau + 1.0f, beta2 = tau * (tau + 2.0f) / (gamma * gamma);
    float cut = threshold_mev / mev;
    if (charge == ELECTRON_CHARGE) {
        if (cut >= 0.5f) {
            return 0.0f;
        }
        float exchange = tau / gamma, remainder = 1.0f - cut;
        exchange *= exchange;
        return scale_cm2_mev_g / (beta2 * mev)
               * (exchange * (0.5f - cut) + 1.0f / cut - 1.0f / remainder
                  - (2.0f * gamma - 1.0f) / (gamma * gamma) * __logf(__fdividef(remainder, cut)));
    }
    if (cut >= 1.0f) {
        return 0.0f;
    }
    float y = 1.0f / (gamma + 1.0f), z = 1.0f - 2.0f * y;
    float b1 = 2.0f - y * y, b2 = z * (3.0f + y * y), b4 = z * z * z, b3 = b4 + z * z;
    return scale_cm2_mev_g / mev
           * ((1.0f / cut - 1.0f) / beta2 + b1 * logf(cut) + b2 * (1.0f - cut) - b3 * (1.0f - cut * cut) / 2.0f
              + b4 * (1.0f - cut * cut * cut) / 3.0f);
}

// Share of its energy that a knock-on electron takes.
__device__ inline float knock_on_share(Track& track, float mev, float threshold_mev)
{
    float tau = mev / MASS_MEV, gamma = tau + 1.0f, beta2 = tau * (tau + 2.0f) / (gamma * gamma);
    float cut = threshold_mev / mev;
    float exchange = tau / gamma * (tau / gamma), interference = (2.0f * gamma - 1.0f) / (gamma * gamma);
    float y = 1.0f / (gamma + 1.0f), z = 1.0f - 2.0f * y;
    float b1 = 2.0f - y * y, b2 = z * (3.0f + y * y), b4 = z * z * z, b3 = b4 + z * z;
    while (true) {
        uint4 words = track.draws.words();
        float share, acceptance;
        if (track.charge == ELECTRON_CHARGE) {
            share = cut / (1.0f - (1.0f - 2.0f * cut) * uniform(words.x));
            float odds = share / (1.0f - share);
            acceptance = (1.0f + exchange * share * share + odds * (odds - interference)) / (2.0f + exchange / 4.0f);
        } else {
            share = cut / (1.0f - (1.0f - cut) * uniform(words.x));
            acceptance = 1.0f - beta2 * share * (b1 - share * (b2 - share * (b3 - share * b4)));
        }
        if (uniform(words.y) < acceptance) {
            return share;
        }
    }
}

// Moller's or Bhabha's collision; both particles carry the momentum of the first. The secondary goes into `electrons`.
__device__ inline void knock_on_electron(const McRun& run, const McQueue& electrons, Track& track)
{
    float mev = mev_of(track.quanta);
    unsigned greatest = track.charge == ELECTRON_CHARGE ? track.quanta / 2u : track.quanta;
    unsigned transfer = min(quanta_of(mev * knock_on_share(track, mev, run.electron_threshold_mev)), greatest);
    float transfer_mev = mev_of(transfer), twice_mass = 2.0f * MASS_MEV;
    uint4 words = track.draws.words();
    float azimuth = TAU * uniform(words.x);
    float cos2 = transfer_mev * (mev + twice_mass) / (mev * (transfer_mev + twice_mass));
    float direction[3] = {track.direction[0], track.direction[1], track.direction[2]};
    deflect(direction, 1.0f - sqrtf(fminf(cos2, 1.0f)), opposite(azimuth));
    if (transfer <= cut_off_of(run, track.word)) {
        track.unscored += scored(run, class_of(track.word), ELECTRON_CHARGE, transfer_mev, transfer);
    } else {
        McParticle p = {{track.position_cm[0], track.position_cm[1], track.position_cm[2]},
                        {direction[0], direction[1], direction[2]},
                        transfer,
                        track.weight,
                        ELECTRON_CHARGE,
                        {words.y, words.z}};
        push(run, electrons, p);
    }
    float sin2 = transfer_mev * twice_mass / (mev * (mev - transfer_mev + twice_mass));
    deflect(track.direction, sin2 / (1.0f + sqrtf(fmaxf(1.0f - sin2, 0.0f))), azimuth);
    lose(track, transfer);
}

// Bremsstrahlung photon at the polar angle m/(T + m); the electron keeps its direction.
__device__ inline void radiate(const McRun& run, const McQueue& photons, Track& track)
{
    float mev = mev_of(track.quanta), threshold = run.photon_threshold_mev;
    float fraction;
    int node = place<-6, 2, BREMSSTRAHLUNG_ROWS>(mev, fraction);
    const float* rows = run.tables.bremsstrahlung
                        + ((int)class_of(track.word) * BREMSSTRAHLUNG_ROWS + node) * BREMSSTRAHLUNG_COLUMNS;
    float ln_ratio = logf(mev / threshold), candidate_mev;
    uint4 words;
    float acceptance;
    do {
        words = track.draws.words();
        candidate_mev = threshold * expf(ln_ratio * uniform(words.x));
        float position = candidate_mev / mev * (float)(BREMSSTRAHLUNG_COLUMNS - 1);
        int column = min((int)position, BREMSSTRAHLUNG_COLUMNS - 2);
        float low = between(__ldg(rows + column), __ldg(rows + column + BREMSSTRAHLUNG_COLUMNS), fraction);
        float high = between(__ldg(rows + column + 1), __ldg(rows + column + 1 + BREMSSTRAHLUNG_COLUMNS), fraction);
        acceptance = between(low, high, position - (float)column);
    } while (uniform(words.y) >= acceptance);
    unsigned photon = min(quanta_of(candidate_mev), track.quanta);
    float angle = MASS_MEV / (mev + MASS_MEV), half = sinf(0.5f * angle);
    float direction[3] = {track.direction[0], track.direction[1], track.direction[2]};
    deflect(direction, 2.0f * half * half, TAU * uniform(words.z));
    emit_photon(run, photons, track, photon, direction);
    lose(track, photon);
}

// Two photons of a positron in flight (particles/hard/annihilation.rs).
__device__ inline void annihilate_in_flight(const McRun& run, const McQueue& photons, Track& track)
{
    float mev = mev_of(track.quanta), gamma = mev / MASS_MEV + 1.0f, momentum = sqrtf(gamma * gamma - 1.0f);
    float least = 1.0f / (gamma + 1.0f + momentum), ln_span = logf(1.0f / least - 1.0f);
    float share, density;
    uint4 words;
    do {
        words = track.draws.words();
        share = least * expf(ln_span * uniform(words.x));
        density = -(gamma + 1.0f) * (gamma + 1.0f) + (gamma * gamma + 4.0f * gamma + 1.0f) / share - 1.0f / (share * share);
    } while (uniform(words.y) * (gamma * gamma + 2.0f * gamma - 1.0f) >= share * density);
    unsigned both = track.quanta + 2u * REST_QUANTA;
    unsigned first = min(quanta_of(mev_of(both) * share), both);
    float azimuth = TAU * uniform(words.z);
#pragma unroll
    for (int n = 0; n < 2; ++n) {
        float part = n == 0 ? share : 1.0f - share;
        float cos = fminf(fmaxf((gamma + 1.0f - 1.0f / part) / momentum, -1.0f), 1.0f);
        float direction[3] = {track.direction[0], track.direction[1], track.direction[2]};
        deflect(direction, 1.0f - cos, n == 0 ? azimuth : opposite(azimuth));
        emit_photon(run, photons, track, n == 0 ? first : both - first, direction);
    }
}

// Lets a candidate of a hard collision be one or none.
__device__ inline int collide(const McRun& run, const McQueue& electrons, const McQueue& photons, Track& track)
{
    uint4 words = track.draws.words();
    track.mean_free_paths = -__logf(uniform(words.x));
    unsigned material = class_of(track.word);
    float mev = mev_of(track.quanta), scale = run.tables.collision_cm2_mev_g[material];
    float knock_on = knock_on_cm2_g(scale, track.charge, mev, run.electron_threshold_mev);
    float bremsstrahlung = charged_at(run, material, track.charge, mev).z;
    float target = track.hard_bound_cm2_g * uniform(words.y);
    if (target < knock_on) {
        knock_on_electron(run, electrons, track);
    } else if (target < knock_on + bremsstrahlung && mev > run.photon_threshold_mev) {
        radiate(run, photons, track);
    } else if (track.charge == POSITRON_CHARGE) {
        float gamma = mev / MASS_MEV + 1.0f, momentum2 = gamma * gamma - 1.0f, momentum = sqrtf(momentum2);
        // pi re^2 NA Z/A is the scale over 2 m.
        float annihilation = scale / (2.0f * MASS_MEV * (gamma + 1.0f) * momentum2)
                             * ((gamma * gamma + 4.0f * gamma + 1.0f) * logf(gamma + momentum) - (3.0f + gamma) * momentum);
        if (target < knock_on + bremsstrahlung + annihilation) {
            annihilate_in_flight(run, photons, track);
            score(run, track);
            return ENDED;
        }
    }
    if (track.quanta <= cut_off_of(run, track.word)) {
        end_track(run, photons, track);
        return ENDED;
    }
    return GOES;
}
