-- Products: what each has switched off. Their files are where the programs run; what holds at every door, an
-- app's and a back-end's too, is here: sharing, reviews and webhooks of the users of a product's clinics.

-- Refuses what the product of a clinic has switched off.
CREATE OR REPLACE FUNCTION analysis.require_feature(p_clinic int, p_feature text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_product text := (
    SELECT p.name FROM analysis.clinic c JOIN analysis.product p ON p.name = c.product
    WHERE c.id = p_clinic AND p_feature = ANY (p.off));
BEGIN
  PERFORM analysis.require_argument(
    v_product IS NULL, format('the clinic''s product %s has switched %s off', v_product, p_feature));
END $$;

-- The same for the product of a user's clinic.
CREATE OR REPLACE FUNCTION analysis.require_feature_of(p_shard smallint, p_user_id bigint, p_feature text)
RETURNS void
LANGUAGE sql STABLE AS $$
  SELECT analysis.require_feature(
    (SELECT a.clinic_id FROM analysis.account a WHERE a.shard = p_shard AND a.user_id = p_user_id), p_feature)
$$;

-- Keeps what a product has switched off, all of it anew; false where it was so already.
CREATE OR REPLACE FUNCTION analysis.set_product(p_product text, p_off text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_off text[];
BEGIN
  PERFORM analysis.require_unrestricted();
  PERFORM analysis.require_argument(
    (p_product ~ '^[a-z0-9][a-z0-9_-]{0,59}$') IS TRUE,
    'a product''s name has 1 to 60 small letters, digits, _ and -, and begins with a letter or digit');
  PERFORM analysis.require_argument(
    cardinality(p_off) <= 20 AND analysis.is_list(p_off, cardinality(p_off))
      AND NOT EXISTS (SELECT FROM unnest(p_off) g(name) WHERE (g.name ~ '^[a-z-]{1,40}$') IS NOT TRUE),
    'a product has switched off at most 20 features, each by its name');
  v_off := ARRAY(SELECT DISTINCT g.name FROM unnest(p_off) g(name) ORDER BY g.name);
  PERFORM analysis.require_argument(
    (SELECT count(*) FROM analysis.product p WHERE p.name <> p_product) < 1000,
    'there are at most 1000 products');
  INSERT INTO analysis.product AS p (name, off) VALUES (p_product, v_off)
  ON CONFLICT (name) DO UPDATE SET off = EXCLUDED.off WHERE p.off <> EXCLUDED.off;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM analysis.audit_add(
    'set_product', 'product:' || p_product, jsonb_build_object('off', to_jsonb(v_off)));
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.set_product IS
  'Keeps what a product has switched off; answers whether it is new.';
