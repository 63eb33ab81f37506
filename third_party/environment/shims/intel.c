// Preloaded: an Intel GPU that is not there, for Mesa's driver (ANV), since Debian has no shim for it. It answers as
// much of the kernel's i915 and xe interfaces (linux-libc-dev's drm/i915_drm.h and drm/xe_drm.h) as devices and
// pipelines need to be made; what is submitted is done at once and does nothing, so memory reads as it was written by
// the host, else 0.
//
//   RLXGPU_INTEL_GPU=bmg LD_PRELOAD=libintel.so PROGRAM      # a name of kModels; RLXGPU_INTEL_DEBUG=1 prints what is
//   not known
//
// The GPU is /dev/null: what is opened as such is ours, and libdrm's own functions are replaced to find it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <drm/drm.h>
#include <drm/i915_drm.h>
#include <drm/xe_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

// What the kernel tells of a GPU. Of ids and units those of one product of each generation.
struct Model {
  const char* name;
  unsigned id;           // of its PCI device
  int xe;                // driven by xe, else by i915
  int slices, dss, eus;  // subslices of a slice, execution units of a subslice
  uint64_t vram;         // GB; 0: the host's memory
  int maj, min;          // of the graphics architecture
};
static const struct Model kModels[] = {
    {"skl", 0x1916, 0, 1, 3, 8, 0, 9, 0},    {"tgl", 0x9a49, 0, 1, 6, 16, 0, 12, 0},
    {"adl", 0x46a6, 0, 1, 6, 16, 0, 12, 0},  {"dg2", 0x56a0, 0, 8, 4, 16, 16, 12, 55},
    {"mtl", 0x7d55, 0, 2, 4, 16, 0, 12, 71}, {"arl", 0x7d51, 0, 2, 4, 16, 0, 12, 74},
    {"lnl", 0x64a0, 1, 2, 4, 8, 0, 20, 4},   {"bmg", 0xe20b, 1, 5, 4, 8, 12, 20, 1},
    {"ptl", 0xb080, 1, 2, 6, 8, 0, 30, 0}};
static struct Model dev;
static int verbose;

// Every buffer object is a piece of one sparse file.
static int store = -1;
static uint64_t top = 1 << 20;  // the end of the pieces given out
static uint32_t next_handle = 1, next_obj = 1;
static struct {
  uint64_t off, size;
} bo[1 << 20];
static uint64_t point[1 << 16];  // reached on the timeline of each synchronisation object

__attribute__((constructor)) static void init(void) {
  const char* name = getenv("RLXGPU_INTEL_GPU");
  verbose = getenv("RLXGPU_INTEL_DEBUG") != NULL;
  for (unsigned i = 0; name != NULL && i < sizeof kModels / sizeof *kModels; i++) {
    if (!strcmp(name, kModels[i].name)) dev = kModels[i];
  }
  if (dev.id == 0) {
    fprintf(stderr, "libintel.so: RLXGPU_INTEL_GPU names no GPU that is known\n");
    _exit(2);
  }
  store = memfd_create("rlxgpu-intel", MFD_CLOEXEC);
  if (store < 0 || ftruncate(store, 1ll << 42)) {
    perror("libintel.so");
    _exit(2);
  }
}
static int is_ours(int fd) {
  struct stat s;
  return syscall(SYS_fstat, fd, &s) == 0 && S_ISCHR(s.st_mode) && s.st_rdev == makedev(1, 3);
}

// Enumeration: libdrm's own functions.
static drmDevicePtr make(void) {
  char* m = calloc(
      1, sizeof(drmDevice) + DRM_NODE_MAX * sizeof(char*) + 3 * 32 + sizeof(drmPciBusInfo) + sizeof(drmPciDeviceInfo));
  drmDevicePtr d = (void*)m;
  m += sizeof(drmDevice);
  d->nodes = (char**)m;
  m += DRM_NODE_MAX * sizeof(char*);
  for (int i = 0; i < DRM_NODE_MAX; i++) {
    d->nodes[i] = m;
    strcpy(m, "/dev/null");
    m += 32;
  }
  d->available_nodes = 1 << DRM_NODE_RENDER | 1 << DRM_NODE_PRIMARY;
  d->bustype = DRM_BUS_PCI;
  d->businfo.pci = (void*)m;
  d->businfo.pci->dev = 2;
  m += sizeof(drmPciBusInfo);
  d->deviceinfo.pci = (void*)m;
  d->deviceinfo.pci->vendor_id = 0x8086;
  d->deviceinfo.pci->device_id = dev.id;
  d->deviceinfo.pci->subvendor_id = 0x8086;
  return d;
}
int drmGetDevices2(uint32_t f, drmDevicePtr devices[], int max) {
  if (devices && max > 0) devices[0] = make();
  return 1;
}
int drmGetDevices(drmDevicePtr devices[], int max) { return drmGetDevices2(0, devices, max); }
void drmFreeDevices(drmDevicePtr devices[], int n) {
  for (int i = 0; i < n; i++) free(devices[i]);
}
int drmGetDevice2(int fd, uint32_t f, drmDevicePtr* d) {
  *d = make();
  return 0;
}
int drmGetDevice(int fd, drmDevicePtr* d) {
  *d = make();
  return 0;
}
void drmFreeDevice(drmDevicePtr* d) {
  free(*d);
  *d = NULL;
}
int drmGetNodeTypeFromFd(int fd) { return DRM_NODE_RENDER; }
int drmGetNodeTypeFromDevId(dev_t d) { return DRM_NODE_RENDER; }
char* drmGetRenderDeviceNameFromFd(int fd) { return strdup("/dev/null"); }

// Memory.
static void* do_mmap(void* a, size_t n, int p, int fl, int fd, off_t off) {
  if (fd >= 0 && is_ours(fd)) fd = store;
  return (void*)syscall(SYS_mmap, a, n, p, fl, fd, off);
}
void* mmap(void* a, size_t n, int p, int fl, int fd, off_t off) { return do_mmap(a, n, p, fl, fd, off); }
void* mmap64(void* a, size_t n, int p, int fl, int fd, off_t off) { return do_mmap(a, n, p, fl, fd, off); }
static uint32_t new_bo(uint64_t size) {
  uint32_t h = __atomic_fetch_add(&next_handle, 1, __ATOMIC_RELAXED) & 0xfffff;
  size = (size + 0xffff) & ~0xffffull;
  bo[h].off = __atomic_fetch_add(&top, size, __ATOMIC_RELAXED);
  bo[h].size = size;
  return h;
}
static void put(void* dst, const char* s, __kernel_size_t* n) {
  if (dst && *n) strncpy(dst, s, *n);
  *n = strlen(s);
}
static int core(unsigned nr, void* arg) {
  switch (nr) {
    case 0x00: {
      struct drm_version* v = arg;
      v->version_major = 1;
      v->version_minor = 6;
      v->version_patchlevel = 0;
      put(v->name, dev.xe ? "xe" : "i915", &v->name_len);
      put(v->date, "0", &v->date_len);
      put(v->desc, "dry", &v->desc_len);
      return 0;
    }
    case 0x0c: {
      struct drm_get_cap* c = arg;
      c->value = c->capability == DRM_CAP_PRIME                                                  ? 3
                 : c->capability == DRM_CAP_SYNCOBJ || c->capability == DRM_CAP_SYNCOBJ_TIMELINE ? 1
                                                                                                 : 0;
      return 0;
    }
    case 0x0d:
      return 0;
    case 0x09: {
      struct drm_gem_close* c = arg;
      uint32_t h = c->handle & 0xfffff;
      if (bo[h].size) fallocate(store, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, bo[h].off, bo[h].size);
      return 0;
    }
    case 0x2d: {
      struct drm_prime_handle* p = arg;
      p->fd = memfd_create("prime", MFD_CLOEXEC);
      return 0;
    }
    case 0x2e: {
      struct drm_prime_handle* p = arg;
      p->handle = new_bo(1 << 20);
      return 0;
    }
    case 0xbf: {
      struct drm_syncobj_create* s = arg;
      s->handle = __atomic_fetch_add(&next_obj, 1, __ATOMIC_RELAXED);
      return 0;
    }
    case 0xc1: {
      struct drm_syncobj_handle* s = arg;
      s->fd = memfd_create("sync", MFD_CLOEXEC);
      return 0;
    }
    case 0xc2: {
      struct drm_syncobj_handle* s = arg;
      if (!s->handle) s->handle = __atomic_fetch_add(&next_obj, 1, __ATOMIC_RELAXED);
      return 0;
    }
    case 0xcb: {
      struct drm_syncobj_timeline_array* t = arg;
      uint32_t* h = (void*)(uintptr_t)t->handles;
      uint64_t* p = (void*)(uintptr_t)t->points;
      for (unsigned i = 0; i < t->count_handles; i++) p[i] = point[h[i] & 0xffff];
      return 0;
    }
    case 0xcd: {
      struct drm_syncobj_timeline_array* t = arg;
      uint32_t* h = (void*)(uintptr_t)t->handles;
      uint64_t* p = (void*)(uintptr_t)t->points;
      for (unsigned i = 0; i < t->count_handles; i++) point[h[i] & 0xffff] = p[i];
      return 0;
    }
    case 0xcc: {
      struct drm_syncobj_transfer* t = arg;
      point[t->dst_handle & 0xffff] = t->dst_point;
      return 0;
    }
    case 0xc0:
    case 0xc3:
    case 0xc4:
    case 0xc5:
    case 0xca:
    case 0xcf:
      return 0;
  }
  if (verbose) fprintf(stderr, "libintel.so: core 0x%x\n", nr);
  errno = EINVAL;
  return -1;
}
static int answer(int32_t* len, void* dst, const void* src, size_t n) {
  if (*len == 0) {
    *len = n;
    return 0;
  }
  if ((size_t)*len < n) {
    *len = -EINVAL;
    return -1;
  }
  memcpy(dst, src, n);
  *len = n;
  return 0;
}
static int i915(unsigned nr, void* arg) {
  switch (nr) {
    case DRM_I915_GETPARAM: {
      drm_i915_getparam_t* g = arg;
      switch (g->param) {
        case I915_PARAM_CHIPSET_ID:
          *g->value = dev.id;
          return 0;
        case I915_PARAM_REVISION:
          *g->value = dev.id == 0x56a0 ? 8 : 4;
          return 0;
        case I915_PARAM_CS_TIMESTAMP_FREQUENCY:
          *g->value = dev.maj >= 12 ? 19200000 : 12000000;
          return 0;
        case I915_PARAM_HAS_ALIASING_PPGTT:
          *g->value = 3;
          return 0;
        case I915_PARAM_CMD_PARSER_VERSION:
          *g->value = 10;
          return 0;
        case I915_PARAM_MMAP_VERSION:
        case I915_PARAM_MMAP_GTT_VERSION:
          *g->value = 4;
          return 0;
        case I915_PARAM_SUBSLICE_TOTAL:
          *g->value = dev.slices * dev.dss;
          return 0;
        case I915_PARAM_EU_TOTAL:
          *g->value = dev.slices * dev.dss * dev.eus;
          return 0;
        case I915_PARAM_SLICE_MASK:
          *g->value = (1 << dev.slices) - 1;
          return 0;
        case I915_PARAM_SUBSLICE_MASK:
          *g->value = (1 << dev.dss) - 1;
          return 0;
        case I915_PARAM_PERF_REVISION:
          *g->value = 3;
          return 0;
        case I915_PARAM_HAS_USERPTR_PROBE:
          *g->value = 1;
          return 0;
        default:
          *g->value = 1;
          if (verbose) fprintf(stderr, "libintel.so: param %d -> 1\n", g->param);
          return 0;
      }
    }
    case DRM_I915_QUERY: {
      struct drm_i915_query* q = arg;
      struct drm_i915_query_item* it = (void*)(uintptr_t)q->items_ptr;
      for (unsigned i = 0; i < q->num_items; i++, it++) {
        void* dst = (void*)(uintptr_t)it->data_ptr;
        char b[4096] = {0};
        if (it->query_id == DRM_I915_QUERY_TOPOLOGY_INFO || it->query_id == DRM_I915_QUERY_GEOMETRY_SUBSLICES) {
          // Mesa wants, from 12.50 on, one slice holding every subslice.
          int sl = dev.maj * 100 + dev.min >= 1250 ? 1 : dev.slices,
              ss = dev.maj * 100 + dev.min >= 1250 ? dev.slices * dev.dss : dev.dss;
          struct drm_i915_query_topology_info* t = (void*)b;
          t->max_slices = sl;
          t->max_subslices = ss;
          t->max_eus_per_subslice = dev.eus;
          t->subslice_offset = (sl + 7) / 8;
          t->subslice_stride = (ss + 7) / 8;
          t->eu_offset = t->subslice_offset + sl * t->subslice_stride;
          t->eu_stride = (dev.eus + 7) / 8;
          for (int s = 0; s < sl; s++) {
            t->data[s / 8] |= 1 << s % 8;
            for (int u = 0; u < ss; u++) {
              t->data[t->subslice_offset + s * t->subslice_stride + u / 8] |= 1 << u % 8;
              for (int e = 0; e < dev.eus; e++)
                t->data[t->eu_offset + (s * ss + u) * t->eu_stride + e / 8] |= 1 << e % 8;
            }
          }
          answer(&it->length, dst, b, sizeof *t + t->eu_offset + sl * ss * t->eu_stride);
        } else if (it->query_id == DRM_I915_QUERY_ENGINE_INFO) {
          struct drm_i915_query_engine_info* t = (void*)b;
          t->num_engines = 2;
          t->engines[0].engine.engine_class = I915_ENGINE_CLASS_RENDER;
          t->engines[1].engine.engine_class = I915_ENGINE_CLASS_COPY;
          if (dev.maj * 100 + dev.min >= 1255) {
            t->num_engines = 3;
            t->engines[2].engine.engine_class = 4;
          }
          answer(&it->length, dst, b, sizeof *t + t->num_engines * sizeof t->engines[0]);
        } else if (it->query_id == DRM_I915_QUERY_MEMORY_REGIONS) {
          struct drm_i915_query_memory_regions* t = (void*)b;
          t->num_regions = dev.vram ? 2 : 1;
          t->regions[0].region.memory_class = I915_MEMORY_CLASS_SYSTEM;
          t->regions[0].probed_size = t->regions[0].unallocated_size = 16ull << 30;
          if (dev.vram) {
            t->regions[1].region.memory_class = I915_MEMORY_CLASS_DEVICE;
            t->regions[1].probed_size = t->regions[1].unallocated_size = t->regions[1].probed_cpu_visible_size =
                t->regions[1].unallocated_cpu_visible_size = dev.vram << 30;
          }
          answer(&it->length, dst, b, sizeof *t + t->num_regions * sizeof t->regions[0]);
        } else {
          if (verbose) fprintf(stderr, "libintel.so: query %llu\n", (unsigned long long)it->query_id);
          it->length = -EINVAL;
        }
      }
      return 0;
    }
    case DRM_I915_GEM_CREATE: {
      struct drm_i915_gem_create* c = arg;
      c->handle = new_bo(c->size);
      return 0;
    }
    case DRM_I915_GEM_CREATE_EXT: {
      struct drm_i915_gem_create_ext* c = arg;
      c->handle = new_bo(c->size);
      return 0;
    }
    case DRM_I915_GEM_USERPTR: {
      struct drm_i915_gem_userptr* u = arg;
      if (!u->user_size) {
        errno = EINVAL;
        return -1;
      }
      u->handle = new_bo(u->user_size);
      return 0;
    }
    case DRM_I915_GEM_MMAP_GTT: {
      struct drm_i915_gem_mmap_offset* m = arg;
      m->offset = bo[m->handle & 0xfffff].off;
      return 0;
    }
    case DRM_I915_GEM_MMAP: {
      struct drm_i915_gem_mmap* m = arg;
      m->addr_ptr = (uintptr_t)mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, store,
                                    bo[m->handle & 0xfffff].off + m->offset);
      return 0;
    }
    case DRM_I915_GEM_VM_CREATE: {
      struct drm_i915_gem_vm_control* v = arg;
      v->vm_id = 1;
      return 0;
    }
    case DRM_I915_GEM_CONTEXT_CREATE: {
      struct drm_i915_gem_context_create* c = arg;
      c->ctx_id = 1;
      return 0;
    }
    case DRM_I915_GEM_CONTEXT_GETPARAM: {
      struct drm_i915_gem_context_param* p = arg;
      p->value = p->param == I915_CONTEXT_PARAM_GTT_SIZE ? 1ull << 48 : 0;
      return 0;
    }
    case DRM_I915_GEM_GET_APERTURE: {
      struct drm_i915_gem_get_aperture* a = arg;
      a->aper_size = a->aper_available_size = 1ull << 48;
      return 0;
    }
    case DRM_I915_GEM_EXECBUFFER2: {
      struct drm_i915_gem_execbuffer2* e = arg;
      if (e->flags & I915_EXEC_USE_EXTENSIONS) {
        struct drm_i915_gem_execbuffer_ext_timeline_fences* x = (void*)(uintptr_t)e->cliprects_ptr;
        while (x) {
          if (x->base.name == DRM_I915_GEM_EXECBUFFER_EXT_TIMELINE_FENCES) {
            struct drm_i915_gem_exec_fence* f = (void*)(uintptr_t)x->handles_ptr;
            uint64_t* v = (void*)(uintptr_t)x->values_ptr;
            for (uint64_t i = 0; i < x->fence_count; i++)
              if (f[i].flags & I915_EXEC_FENCE_SIGNAL) point[f[i].handle & 0xffff] = v[i];
          }
          x = (void*)(uintptr_t)x->base.next_extension;
        }
      }
      return 0;
    }
    case DRM_I915_REG_READ: {
      struct drm_i915_reg_read* r = arg;
      struct timespec t;
      clock_gettime(CLOCK_MONOTONIC, &t);
      r->val = (t.tv_sec * 1000000000ull + t.tv_nsec) / 52;
      return 0;
    }
    case DRM_I915_GEM_BUSY:
      ((struct drm_i915_gem_busy*)arg)->busy = 0;
      return 0;
    case DRM_I915_GEM_MADVISE:
      ((struct drm_i915_gem_madvise*)arg)->retained = 1;
      return 0;
    default:
      if (verbose) fprintf(stderr, "libintel.so: i915 0x%x ok\n", nr);
      return 0;
  }
}
static int xe_sync(void* p, unsigned n) {
  struct drm_xe_sync* s = p;
  for (unsigned i = 0; i < n; i++)
    if (s[i].flags & DRM_XE_SYNC_FLAG_SIGNAL) {
      if (s[i].type == DRM_XE_SYNC_TYPE_TIMELINE_SYNCOBJ)
        point[s[i].handle & 0xffff] = s[i].timeline_value;
      else if (s[i].type == DRM_XE_SYNC_TYPE_USER_FENCE)
        *(uint64_t*)(uintptr_t)s[i].addr = s[i].timeline_value;
    }
  return 0;
}
static int xe(unsigned nr, void* arg) {
  switch (nr) {
    case DRM_XE_DEVICE_QUERY: {
      struct drm_xe_device_query* q = arg;
      char b[4096] = {0};
      size_t n = 0;
      void* dst = (void*)(uintptr_t)q->data;
      switch (q->query) {
        case DRM_XE_DEVICE_QUERY_ENGINES: {
          struct drm_xe_query_engines* t = (void*)b;
          t->num_engines = 3;
          t->engines[0].instance.engine_class = DRM_XE_ENGINE_CLASS_RENDER;
          t->engines[1].instance.engine_class = DRM_XE_ENGINE_CLASS_COPY;
          t->engines[2].instance.engine_class = DRM_XE_ENGINE_CLASS_COMPUTE;
          n = sizeof *t + 3 * sizeof t->engines[0];
          break;
        }
        case DRM_XE_DEVICE_QUERY_MEM_REGIONS: {
          struct drm_xe_query_mem_regions* t = (void*)b;
          t->num_mem_regions = dev.vram ? 2 : 1;
          t->mem_regions[0].min_page_size = 4096;
          t->mem_regions[0].total_size = 16ull << 30;
          if (dev.vram) {
            t->mem_regions[1].mem_class = DRM_XE_MEM_REGION_CLASS_VRAM;
            t->mem_regions[1].instance = 1;
            t->mem_regions[1].min_page_size = 65536;
            t->mem_regions[1].total_size = t->mem_regions[1].cpu_visible_size = dev.vram << 30;
          }
          n = sizeof *t + t->num_mem_regions * sizeof t->mem_regions[0];
          break;
        }
        case DRM_XE_DEVICE_QUERY_CONFIG: {
          struct drm_xe_query_config* t = (void*)b;
          t->num_params = 5;
          t->info[0] = dev.id | 4ull << 16;
          t->info[1] = dev.vram ? 1 : 0;
          t->info[2] = dev.vram ? 65536 : 4096;
          t->info[3] = 48;
          t->info[4] = 2;
          n = sizeof *t + 5 * 8;
          break;
        }
        case DRM_XE_DEVICE_QUERY_GT_LIST: {
          struct drm_xe_query_gt_list* t = (void*)b;
          t->num_gt = 1;
          t->gt_list[0].reference_clock = 19200000;
          t->gt_list[0].near_mem_regions = dev.vram ? 2 : 1;
          t->gt_list[0].far_mem_regions = dev.vram ? 1 : 0;
          t->gt_list[0].ip_ver_major = dev.maj;
          t->gt_list[0].ip_ver_minor = dev.min;
          n = sizeof *t + sizeof t->gt_list[0];
          break;
        }
        case DRM_XE_DEVICE_QUERY_GT_TOPOLOGY: {
          char* p = b;
          int types[] = {DRM_XE_TOPO_DSS_GEOMETRY, DRM_XE_TOPO_DSS_COMPUTE, DRM_XE_TOPO_L3_BANK,
                         DRM_XE_TOPO_SIMD16_EU_PER_DSS};
          for (int i = 0; i < 4; i++) {
            struct drm_xe_query_topology_mask* t = (void*)p;
            int bits = i < 2 ? dev.slices * dev.dss : i == 2 ? 16 : dev.eus;
            t->type = types[i];
            t->num_bytes = 8;
            for (int k = 0; k < bits; k++) t->mask[k / 8] |= 1 << k % 8;
            p += sizeof *t + 8;
          }
          n = p - b;
          break;
        }
        case DRM_XE_DEVICE_QUERY_ENGINE_CYCLES: {
          struct drm_xe_query_engine_cycles* t = dst;
          if (q->size) {
            struct timespec c;
            clock_gettime(CLOCK_MONOTONIC, &c);
            t->width = 36;
            t->cpu_timestamp = c.tv_sec * 1000000000ull + c.tv_nsec;
            t->engine_cycles = t->cpu_timestamp / 52;
            t->cpu_delta = 1;
          }
          q->size = sizeof *t;
          return 0;
        }
        case DRM_XE_DEVICE_QUERY_UC_FW_VERSION: {
          struct drm_xe_query_uc_fw_version* t = dst;
          if (q->size) {
            t->major_ver = 70;
            t->minor_ver = 40;
          }
          q->size = sizeof *t;
          return 0;
        }
        case DRM_XE_DEVICE_QUERY_HWCONFIG:
          break;  // an empty table
        default:
          if (verbose) fprintf(stderr, "libintel.so: xe query %u\n", q->query);
          errno = EINVAL;
          return -1;
      }
      if (q->size == 0) {
        q->size = n;
        return 0;
      }
      memcpy(dst, b, n < q->size ? n : q->size);
      return 0;
    }
    case DRM_XE_GEM_CREATE: {
      struct drm_xe_gem_create* c = arg;
      c->handle = new_bo(c->size);
      return 0;
    }
    case DRM_XE_GEM_MMAP_OFFSET: {
      struct drm_xe_gem_mmap_offset* m = arg;
      m->offset = bo[m->handle & 0xfffff].off;
      return 0;
    }
    case DRM_XE_VM_CREATE:
      ((struct drm_xe_vm_create*)arg)->vm_id = 1;
      return 0;
    case DRM_XE_VM_BIND: {
      struct drm_xe_vm_bind* v = arg;
      return xe_sync((void*)(uintptr_t)v->syncs, v->num_syncs);
    }
    case DRM_XE_EXEC_QUEUE_CREATE:
      ((struct drm_xe_exec_queue_create*)arg)->exec_queue_id = 1;
      return 0;
    case DRM_XE_EXEC_QUEUE_GET_PROPERTY:
      ((struct drm_xe_exec_queue_get_property*)arg)->value = 0;
      return 0;
    case DRM_XE_EXEC: {
      struct drm_xe_exec* e = arg;
      return xe_sync((void*)(uintptr_t)e->syncs, e->num_syncs);
    }
    default:
      if (verbose) fprintf(stderr, "libintel.so: xe 0x%x ok\n", nr);
      return 0;
  }
}
int ioctl(int fd, unsigned long req, ...) {
  va_list a;
  va_start(a, req);
  void* arg = va_arg(a, void*);
  va_end(a);
  if (_IOC_TYPE(req) != DRM_IOCTL_BASE || !is_ours(fd)) return syscall(SYS_ioctl, fd, req, arg);
  unsigned nr = _IOC_NR(req);
  if (nr >= DRM_COMMAND_BASE && nr < DRM_COMMAND_END)
    return dev.xe ? xe(nr - DRM_COMMAND_BASE, arg) : i915(nr - DRM_COMMAND_BASE, arg);
  return core(nr, arg);
}
