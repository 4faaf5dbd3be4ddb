// Tables of a field, as engine/cccs/field_tables.rs declares them: a test there says what to write here.

#pragma once

struct Picture {
    float first_mm[2];
    float step_mm;
    int size[2];
    int first;
    int here;
};

struct Field {
    float voxel_mm[3];
    float step_mm[3][3];
    float sad_mm;
    float footprint_mm;
    float focal_sigma_mm[2];
    float jaw_distance_mm[2];
    float jaw_transmission;
    float extra_distance_mm;
    float extra_sigma_mm;
    float extra_share;
    float scale;
    float tilt_reach;
    float first_depth_cm;
    float depth_step_cm;
    float softening_step_mm;
    float surface_gy;
    float surface_scale;
    float surface_range_mm;
    float surface_falloff_per_mm;
    float surface_sigma_mm;
    float leaf_distance_mm;
    Picture focal;
    Picture surface;
    Picture scattered;
    int size[3];
    int openings_at;
    int openings;
    int horn_at;
    int horns;
    int softening_at;
    int softenings;
    int normal_at;
    int integral_at;
    int terma_at;
    int terma_rows;
    int tilt_at;
    int leaves;
    int along_y;
};
