# The programs as they are released. Sourced, not run; needs packages.sh.
#
# release_programs PRODUCT...   builds the products and sets `programs` to the folder where they are; where
#                               ANALYSIS_PROGRAMS names a folder of built ones, nothing is built
# program_version               says the version of those programs

# The libraries of Swift are linked in; docs/install.md and the Dockerfile have the same options.
RELEASE_OPTIONS=(-c release --static-swift-stdlib --disable-local-rpath -Xlinker -s)

release_programs() {
  local product
  programs=${ANALYSIS_PROGRAMS:-}
  if [ -z "$programs" ]; then
    require_swift || return
    install_packages "${BUILD_PACKAGES[@]}" || return
    for product in "$@"; do
      swift build "${RELEASE_OPTIONS[@]}" --scratch-path .build/programs --product "$product" >&2 || return
    done
    programs=.build/programs/release
  fi
  programs=$(cd "$programs" && pwd) || return
  for product in "$@"; do
    [ -x "$programs/$product" ] || { echo "$programs has no program $product." >&2; return 66; }
  done
}

program_version() { "$programs/analysisctl" --version | sed 's/.* //'; }
