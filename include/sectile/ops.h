//===-- ops.h - every operation of the language -------------------------------------------===//
#pragma once

#include <sectile/blocks.h>
#include <sectile/creation.h>
#include <sectile/debug.h>
#include <sectile/elements.h>
#include <sectile/math.h>
#include <sectile/memory.h>
#include <sectile/random.h>
#include <sectile/reduce.h>
#include <sectile/shape.h>
