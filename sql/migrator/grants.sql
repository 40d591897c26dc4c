-- Which role may call which functions by its duties.
SELECT h.o_role::text, d.o_functions FROM analysis.duties_held() h JOIN analysis.duties() d ON d.o_duty = h.o_duty
