// Preloaded before Mesa's nouveau shim: RLXGPU_PCI_ID=10de:2204 is what libdrm and the kernel report as the ids of the
// GPU. NVK refuses the ids that the shim itself makes up.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <drm/nouveau_drm.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <xf86drm.h>

static int wanted(unsigned* vendor, unsigned* id) {
  const char* text = getenv("RLXGPU_PCI_ID");
  return text != NULL && sscanf(text, "%x:%x", vendor, id) == 2;
}

static void rename_device(drmDevicePtr device) {
  unsigned vendor, id;
  if (device == NULL || device->bustype != DRM_BUS_PCI || device->deviceinfo.pci == NULL || !wanted(&vendor, &id))
    return;
  device->deviceinfo.pci->vendor_id = vendor;
  device->deviceinfo.pci->device_id = id;
}

int drmGetDevices2(uint32_t flags, drmDevicePtr devices[], int most) {
  int (*real)(uint32_t, drmDevicePtr[], int) = dlsym(RTLD_NEXT, "drmGetDevices2");
  const int count = real(flags, devices, most);
  for (int i = 0; devices != NULL && i < count && i < most; ++i) rename_device(devices[i]);
  return count;
}

int drmGetDevice2(int fd, uint32_t flags, drmDevicePtr* device) {
  int (*real)(int, uint32_t, drmDevicePtr*) = dlsym(RTLD_NEXT, "drmGetDevice2");
  const int status = real(fd, flags, device);
  if (status == 0) rename_device(*device);
  return status;
}

int drmGetDevice(int fd, drmDevicePtr* device) { return drmGetDevice2(fd, 0, device); }

// NVK asks the kernel, too.
int ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  int (*real)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
  const int status = real(fd, request, argument);
  unsigned vendor, id;
  if (status == 0 && (unsigned)request == (unsigned)DRM_IOCTL_NOUVEAU_GETPARAM && wanted(&vendor, &id)) {
    struct drm_nouveau_getparam* parameter = argument;
    if (parameter->param == NOUVEAU_GETPARAM_PCI_DEVICE) parameter->value = id;
  }
  return status;
}
