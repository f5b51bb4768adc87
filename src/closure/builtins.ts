/**
 * Node's own modules and their functions, which every thread has: they cross by name. Only modules that people use in
 * loops are known; others are given by hand, or imported inside the body.
 */

const modules =
  `assert buffer child_process crypto dns events fs fs/promises http https module net os path perf_hooks
process querystring readline stream stream/promises string_decoder timers timers/promises tty url util v8 vm worker_threads
zlib`.split(/\s+/);

type Loader = (name: string) => object | undefined;

function loader(): Loader | undefined {
  // Not there in a browser.
  return (globalThis as { process?: { getBuiltinModule?: Loader } }).process?.getBuiltinModule;
}

const paths = new Map<unknown, string>();
const searched = new Set<string>();
let loadedThen = -1;

/** Notes the names of everything in the modules that the program has loaded: nobody holds a part of another. */
function search(): void {
  const { moduleLoadList: loaded } = process as { readonly moduleLoadList?: readonly string[] }; // Node's own list.
  if (loaded?.length === loadedThen) return;
  loadedThen = loaded?.length ?? 0;
  const load = loader();
  for (const name of modules) {
    if (load === undefined || searched.has(name)) continue;
    if (loaded !== undefined && !loaded.includes(`NativeModule ${name}`)) continue;
    searched.add(name);
    const module = load(name);
    if (module === undefined) continue;
    if (!paths.has(module)) paths.set(module, name);
    for (const [member, { value }] of Object.entries(Object.getOwnPropertyDescriptors(module))) {
      const named: unknown = value;
      // Accessors are left alone: some warn, or load what nobody asked for.
      if (
        (typeof named === "function" || (typeof named === "object" && named !== null)) &&
        !paths.has(named)
      ) {
        paths.set(named, `${name}#${member}`);
      }
    }
  }
}

/** The name of a module of Node's or of a member of one. */
export function builtinNameOf(value: unknown): string | undefined {
  if (loader() === undefined) return undefined;
  search();
  return paths.get(value);
}

/** What has that name. */
export function builtinNamed(path: string): unknown {
  const [name = "", member] = path.split("#");
  const module = loader()?.(name) as Record<string, unknown> | undefined; // A module has members by name.
  return member === undefined ? module : module?.[member];
}
