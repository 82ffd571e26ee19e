#include "system/columns.h"

#include "deck/deck.h"

const MdColumn md_columns[MD_N_COLUMNS] = {MD_COLUMNS(MD_COLUMN_ENTRY)};

bool md_column_is_there(int column, const MdConfig *config) {
    switch (md_columns[column].when) {
    case MD_WHEN_MSD: return config->analysis_msd_every > 0;
    case MD_WHEN_VACF: return config->analysis_vacf_every > 0;
    default: return true;
    }
}

size_t md_number_bytes(MdNumber number, int precision) {
    const bool is_double = number == MD_NUMBER_DOUBLE || (number == MD_NUMBER_PAIR ? precision == MD_PRECISION_DOUBLE
                                                                                   : precision != MD_PRECISION_SINGLE);
    return number == MD_NUMBER_WORD ? sizeof(int32_t) : is_double ? sizeof(double) : sizeof(float);
}

size_t md_column_bytes(int column, int precision) {
    return (size_t)md_columns[column].components * md_number_bytes(md_columns[column].number, precision);
}
