#!/usr/bin/env bash
# Runs README's two commands on a Debian 12 that has nothing but `apt`, from a clean clone of HEAD.
#
#   ./dev fresh [--cold] [--keep] [--only demo] [ARGS of ./dev check]
#
#   --cold   compiles without the compiler cache that runs of this command share
#   --keep   leaves the root on disk, for a look inside: chroot FOLDER
#   --only   runs the first command only
#
# What is tried there, in one build:
#   1. an ordinary user without sudo types ./dev demo: the answer names the packages, nothing is installed
#   2. root types ./dev demo: everything missing is installed, built and run
#   3. the ordinary user, with the packages there, types ./dev check
#   4. the ordinary user types ./dev wheel, and another bare root uses the wheel: wheel_test.sh
#
# Exit status: 0 all passed; 77 no bare root can be made on this machine, and nothing was run; else a failure.
#
# All of it happens in a mount and process namespace of its own: whatever ends this script, also SIGKILL,
# ends its processes and takes its mounts along, so that the folder can be deleted without a thought; what
# SIGKILL leaves on disk the next run deletes.
set -euo pipefail

readonly release=bookworm archive=http://deb.debian.org/debian security=http://deb.debian.org/debian-security
readonly needed_gib=12
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
script=$source/tests/fresh/bare_root.sh

say() { printf '==> fresh: %s\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
cannot() { printf 'NO BARE ROOT CAN BE MADE HERE: %s\n' "$*" >&2; exit 77; }

# ---- inside the namespace ----------------------------------------------------------------------------

# Variables that say how the package registries are reached.
registry_variables() {
  env | grep -iE '^(PIP_[A-Z_]*|https?_proxy|no_proxy|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)=' || true
}

# Folders on this machine in which pip is told to look for packages; of an index, what it lies in.
local_package_folders() {
  local word
  for word in $({ python3 -m pip config list 2>/dev/null || true; env | grep ^PIP_ || true; } |
    grep -iE 'find[-_]links|index[-_]url' | cut -d= -f2- | tr -d "\"'"); do
    word=${word#file://}
    [ "${word#/}" != "$word" ] && [ -d "$word" ] || continue
    if [ "$(basename "$word")" = simple ]; then dirname "$word"; else echo "$word"; fi
  done | sort -u
}

make_root() {
  local bare=$1
  say "debootstrap --variant=minbase $release"
  debootstrap --variant=minbase "$release" "$bare" "$archive" >"$bare.log" 2>&1 ||
    { sleep 10 && rm -rf "${bare:?}"/* && debootstrap --variant=minbase "$release" "$bare" "$archive" >"$bare.log" 2>&1; } ||
    { tail -20 "$bare.log" >&2; fail "debootstrap failed (see above)"; }
  rm -f "$bare.log"
  printf 'deb %s %s main\ndeb %s %s-updates main\ndeb %s %s-security main\n' \
    "$archive" "$release" "$archive" "$release" "$security" "$release" >"$bare/etc/apt/sources.list"
  cp /etc/resolv.conf /etc/hosts "$bare/etc/"

  chroot "$bare" useradd --create-home --shell /bin/bash tester

  # What reaches the registries: configuration and certificates of apt and pip.
  local file home
  for file in /etc/apt/apt.conf.d/*proxy* /etc/apt/auth.conf /etc/apt/auth.conf.d /etc/pip.conf \
    /usr/local/share/ca-certificates /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e "$file" ] || { mkdir -p "$(dirname "$bare$file")" && cp -RT "$file" "$bare$file"; }
  done
  for file in .pip/pip.conf .config/pip/pip.conf; do
    for home in "$bare/root" "$bare/home/tester"; do
      [ ! -e "$HOME/$file" ] || { mkdir -p "$(dirname "$home/$file")" && cp "$HOME/$file" "$home/$file"; }
    done
  done
  apt-config dump | grep -E '^Acquire::(https?::|Check-)' >"$bare/etc/apt/apt.conf.d/90registry" || true
  echo 'Acquire::Retries "3";' >"$bare/etc/apt/apt.conf.d/91retries"

}

# Mounts what programs expect, and the package folders of this machine.
mount_in() {
  local bare=$1 folder
  mount -t proc proc "$bare/proc"
  mount --rbind /dev "$bare/dev"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$bare/dev/pts"
  for folder in $(local_package_folders); do
    mkdir -p "$bare$folder"
    mount --bind "$folder" "$bare$folder"
    mount -o remount,ro,bind "$bare$folder"
  done
}

# enter USER COMMAND...: runs a command in the clone, with a bare environment.
enter() {
  local user=$1
  shift
  enter_root "$bare" "$user" bash -c 'cd /home/tester/sectile && exec "$@"' - "$@"
}

enter_root() { # enter_root FOLDER USER COMMAND...
  local bare=$1 user=$2 home=/root
  shift 2
  [ "$user" = root ] || home=/home/$user
  mapfile -t variables < <(registry_variables)
  chroot "$bare" /sbin/runuser -u "$user" -- /usr/bin/env -i HOME="$home" USER="$user" LANG=C.UTF-8 TERM="${TERM:-dumb}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CCACHE_DIR=/ccache CCACHE_UMASK=000 ${CI:+CI="$CI"} "${variables[@]}" "$@"
}

minutes() { echo "$(($1 / 60)) min $(($1 % 60)) s"; }

inside() {
  bare=$1 ccache=$2 only=$3
  shift 3
  mount --make-rprivate /
  local start=$SECONDS made demo checked wheel
  make_root "$bare"
  cp -a "$bare" "$bare.wheel" # as bare, for the wheel
  mount_in "$bare"
  git clone -q --no-local "$source" "$bare/home/tester/sectile"
  chroot "$bare" chown -R tester: /home/tester
  mkdir -p "$bare/ccache"
  if [ -n "$ccache" ]; then
    mkdir -p "$ccache"
    mount --bind "$ccache" "$bare/ccache"
  fi
  chmod 777 "$bare/ccache"
  made=$((SECONDS - start))

  say "./dev demo, as an ordinary user without sudo, on the bare machine"
  local answer
  if answer=$(enter tester ./dev demo 2>&1 </dev/null); then
    fail "it should have said which packages are missing, and said: $answer"
  fi
  [[ $answer == *"as root: apt-get install clang-22 "* ]] ||
    fail "the answer does not name the packages to install: $answer"

  say "./dev demo, as root, on the bare machine"
  start=$SECONDS
  enter root ./dev demo || fail "./dev demo failed on a bare machine"
  demo=$((SECONDS - start))
  chroot "$bare" chown -R tester: /home/tester
  [ "$only" != demo ] || { say "passed: root made in $(minutes $made), demo in $(minutes $demo)"; return; }

  say "./dev check, as an ordinary user, with the packages there"
  start=$SECONDS
  enter tester ./dev check "$@" || fail "./dev check failed on a bare machine"
  checked=$((SECONDS - start))

  say "./dev wheel, as an ordinary user, and the wheel on another bare machine"
  start=$SECONDS
  enter tester ./dev wheel || fail "./dev wheel failed on a bare machine"
  mount_in "$bare.wheel"
  mkdir "$bare.wheel/source"
  mount --bind "$bare/home/tester/sectile" "$bare.wheel/source"
  wheel=$(basename "$bare"/home/tester/sectile/dist/opus_sectile-*.whl)
  enter_root "$bare.wheel" root /source/tests/fresh/wheel_test.sh /source "/source/dist/$wheel" ||
    fail "the wheel does not work on a bare machine"
  say "passed: root made in $(minutes $made), demo in $(minutes $demo), check in $(minutes $checked), wheel in $(minutes $((SECONDS - start))), on $(nproc) cores"
}

if [ "${1:-}" = --inside ]; then
  shift
  inside "$@"
  exit
fi

# ---- outside -----------------------------------------------------------------------------------------

keep='' only='' ccache=${XDG_CACHE_HOME:-$HOME/.cache}/sectile-fresh/ccache
while :; do
  case ${1:-} in
    --cold) ccache='' ;;
    --keep) keep=1 ;;
    --only) only=${2:?"--only demo"}; shift ;;
    *) break ;;
  esac
  shift
done

if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || cannot "it takes root, and there is no sudo"
  exec sudo --preserve-env "$script" ${keep:+--keep} ${only:+--only "$only"} "$@"
fi
[ "$(uname -m)" = x86_64 ] || cannot "the machine is $(uname -m), and Sectile is for x86_64"
if ! command -v debootstrap >/dev/null; then
  command -v apt-get >/dev/null || cannot "debootstrap is missing, and there is no apt to install it with"
  say "installing debootstrap"
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends debootstrap; } >/dev/null 2>&1 ||
    cannot "debootstrap is missing and apt-get could not install it"
fi
unshare --mount --pid --fork --kill-child sh -c 'mount --make-rprivate / && mount -t tmpfs none /mnt' 2>/dev/null ||
  cannot "mounting is not allowed here, as in most containers (docker run --privileged allows it)"

place=${SECTILE_FRESH_DIR:-/var/tmp}
mkdir -p "$place"
free_gib=$(($(df --output=avail -k "$place" | tail -1) / 1024 / 1024))
[ "$free_gib" -ge "$needed_gib" ] ||
  fail "$place has $free_gib GiB free and a fresh root takes $needed_gib; SECTILE_FRESH_DIR=FOLDER chooses another place"
[ -z "$(git -C "$source" status --porcelain --untracked-files=no)" ] ||
  say "what is not committed is not in the clone"

for lock in "$place"/sectile-fresh.*.lock; do # runs that ended without cleaning up hold no lock
  if [ -e "$lock" ] && flock --nonblock "$lock" true; then
    rm -rf --one-file-system "${lock%.lock}" "${lock%.lock}.wheel" "${lock%.lock}.log" "$lock"
  fi
done
bare=$(mktemp -d "$place/sectile-fresh.XXXXXX")
chmod 755 "$bare"
exec 9>"$bare.lock"
flock 9
namespace=
clean_up() {
  trap '' INT TERM HUP
  [ -z "$namespace" ] || { kill -KILL "$namespace" 2>/dev/null && wait "$namespace" 2>/dev/null; } || true
  if [ -n "$keep" ]; then
    say "the root stays in $bare"
  else
    rm -rf --one-file-system "$bare" "$bare.wheel" "$bare.log" "$bare.lock"
  fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
# In the background, so that a signal reaches the traps at once; what is typed is for nobody in there.
setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child \
  "$script" --inside "$bare" "$ccache" "$only" "$@" </dev/null 9>&- &
namespace=$!
status=0
wait "$namespace" || status=$?
namespace=
exit $status
