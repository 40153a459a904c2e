/* report.h - the page of gsa report before its data, and after; UTF-8, terminated (page.cmake). */
#ifndef GSA_REPORT_PAGE_H
#define GSA_REPORT_PAGE_H

extern const unsigned char gsa_report_before[], gsa_report_after[];

#endif
