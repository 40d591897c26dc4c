-- How many digits a currency has after the decimal mark, by ISO 4217, list one of 2026-01-01: what it gives
-- no number of digits for (metals, funds, codes for tests) has no amounts. NULL: there is no such currency.
CREATE OR REPLACE FUNCTION analysis.currency_digits(p_currency text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN p_currency = ANY (string_to_array(
      'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF', ' ')) THEN 0
    WHEN p_currency = ANY (string_to_array('BHD IQD JOD KWD LYD OMR TND', ' ')) THEN 3
    WHEN p_currency = ANY (string_to_array('CLF UYW', ' ')) THEN 4
    WHEN p_currency = ANY (string_to_array(
      'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE '
      'CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD '
      'HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK '
      'MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD '
      'RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH '
      'USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG', ' ')) THEN 2 END
$$;
