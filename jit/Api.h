//===-- Api.h - what libsectile.so exports ----------------------------------------------------===//
// Everything is built with hidden symbols; what bindings and C++ programs call is marked here.
#pragma once

#define SECTILE_API __attribute__((visibility("default")))
