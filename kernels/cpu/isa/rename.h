/* rename.h - the external names of a level of vectors, GSA_CPU_LEVEL. A kernel file is compiled
 * once a level, and one program holds all levels: each name below stands for a symbol of its level
 * alone. The source so has plain names, and every code browser finds their definitions and calls. A
 * function that another file calls is named cpu_..., and has a line here; the test cpu.names is red
 * where one has none. Static functions need none. */
#ifndef GSA_CPU_RENAME_H
#define GSA_CPU_RENAME_H

#define GSA_CPU_PASTE(level, name) gsa_cpu_##level##_##name
#define GSA_CPU_OF(level, name)    GSA_CPU_PASTE(level, name)
#define GSA_CPU_SYMBOL(name)       GSA_CPU_OF(GSA_CPU_LEVEL, name)

/* kernels/cpu/table.h */
#define cpu_probe                  GSA_CPU_SYMBOL(probe)
#define cpu_attend_forward         GSA_CPU_SYMBOL(attend_forward)
#define cpu_attend_backward        GSA_CPU_SYMBOL(attend_backward)
#define cpu_dropout_forward        GSA_CPU_SYMBOL(dropout_forward)
#define cpu_dropout_backward       GSA_CPU_SYMBOL(dropout_backward)
#define cpu_cross_entropy_forward  GSA_CPU_SYMBOL(cross_entropy_forward)
#define cpu_cross_entropy_backward GSA_CPU_SYMBOL(cross_entropy_backward)
#define cpu_activate_forward       GSA_CPU_SYMBOL(activate_forward)
#define cpu_activate_backward      GSA_CPU_SYMBOL(activate_backward)
#define cpu_norm_forward           GSA_CPU_SYMBOL(norm_forward)
#define cpu_norm_backward          GSA_CPU_SYMBOL(norm_backward)
#define cpu_adam                   GSA_CPU_SYMBOL(adam)
#define cpu_sum_squares            GSA_CPU_SYMBOL(sum_squares)

/* kernels/cpu/attention/attention.h */
#define cpu_inspect       GSA_CPU_SYMBOL(inspect)
#define cpu_inspect_block GSA_CPU_SYMBOL(inspect_block)
#define cpu_inspect_cut   GSA_CPU_SYMBOL(inspect_cut)
#define cpu_formats       GSA_CPU_SYMBOL(formats)

/* kernels/cpu/attention/dia.h */
#define cpu_dia_at       GSA_CPU_SYMBOL(dia_at)
#define cpu_dia_all_at   GSA_CPU_SYMBOL(dia_all_at)
#define cpu_dia_forward  GSA_CPU_SYMBOL(dia_forward)
#define cpu_dia_backward GSA_CPU_SYMBOL(dia_backward)

/* kernels/cpu/attention/dense.h */
#define cpu_dense_fits     GSA_CPU_SYMBOL(dense_fits)
#define cpu_dense_forward  GSA_CPU_SYMBOL(dense_forward)
#define cpu_dense_backward GSA_CPU_SYMBOL(dense_backward)

/* kernels/cpu/attention/edge_plan.h */
#define cpu_plan_of     GSA_CPU_SYMBOL(plan_of)
#define cpu_plan_done   GSA_CPU_SYMBOL(plan_done)
#define cpu_plan_blocks GSA_CPU_SYMBOL(plan_blocks)

/* kernels/cpu/attention/ell.h */
#define cpu_ell_begin           GSA_CPU_SYMBOL(ell_begin)
#define cpu_ell_put             GSA_CPU_SYMBOL(ell_put)
#define cpu_ell_end             GSA_CPU_SYMBOL(ell_end)
#define cpu_ell_forward         GSA_CPU_SYMBOL(ell_forward)
#define cpu_ell_backward        GSA_CPU_SYMBOL(ell_backward)
#define cpu_ell_single_backward GSA_CPU_SYMBOL(ell_single_backward)

/* kernels/cpu/attention/dropout_mask.h */
#define cpu_mask_rows4 GSA_CPU_SYMBOL(mask_rows4)
#define cpu_mask_bcsr  GSA_CPU_SYMBOL(mask_bcsr)
#define cpu_mask_edges GSA_CPU_SYMBOL(mask_edges)

/* kernels/cpu/attention/interval.h */
#define cpu_intervals_make          GSA_CPU_SYMBOL(intervals_make)
#define cpu_intervals_release       GSA_CPU_SYMBOL(intervals_release)
#define cpu_interval_forward        GSA_CPU_SYMBOL(interval_forward)
#define cpu_interval_join           GSA_CPU_SYMBOL(interval_join)
#define cpu_interval_backward       GSA_CPU_SYMBOL(interval_backward)
#define cpu_interval_panel_forward  GSA_CPU_SYMBOL(interval_panel_forward)
#define cpu_interval_panel_backward GSA_CPU_SYMBOL(interval_panel_backward)

/* kernels/cpu/attention/row.h */
#define cpu_row_forward      GSA_CPU_SYMBOL(row_forward)
#define cpu_row_join         GSA_CPU_SYMBOL(row_join)
#define cpu_row_end          GSA_CPU_SYMBOL(row_end)
#define cpu_row_backward     GSA_CPU_SYMBOL(row_backward)
#define cpu_row_forward_all  GSA_CPU_SYMBOL(row_forward_all)
#define cpu_row_backward_all GSA_CPU_SYMBOL(row_backward_all)

/* kernels/cpu/attention/panel.h */
#define cpu_multiply  GSA_CPU_SYMBOL(multiply)
#define cpu_mix_panel GSA_CPU_SYMBOL(mix_panel)

/* kernels/cpu/attention/bcsr.h */
#define cpu_bcsr_pays     GSA_CPU_SYMBOL(bcsr_pays)
#define cpu_bcsr_find     GSA_CPU_SYMBOL(bcsr_find)
#define cpu_bcsr_next     GSA_CPU_SYMBOL(bcsr_next)
#define cpu_bcsr_forward  GSA_CPU_SYMBOL(bcsr_forward)
#define cpu_bcsr_backward GSA_CPU_SYMBOL(bcsr_backward)

/* kernels/cpu/attention/bcsr_panel.h */
#define cpu_panels_begin   GSA_CPU_SYMBOL(panels_begin)
#define cpu_panel_products GSA_CPU_SYMBOL(panel_products)

/* kernels/cpu/table.c */
#define cpu_fill GSA_CPU_SYMBOL(fill)

/* tests/kernels/exp_probe.c */
#define cpu_exp_probe GSA_CPU_SYMBOL(exp_probe)
#define cpu_log_probe GSA_CPU_SYMBOL(log_probe)

#endif
