import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs the cases named in its arguments, or all, one after the other; KAFKA is the address of the brokers.
 *
 * <p>Writes "PASS|FAIL name seconds message" for each to the file at COMPAT_RESULTS, which allow_list.py reads. A case that
 * does not end in its time is left running and counts as failed; the process ends anyway.
 */
final class Main {
    private static final List<Class<?>> CASES =
            List.of(Producing.class, Transactions.class, Groups.class, Admins.class, TransactionAdmins.class, Tools.class,
                    Sidecar.class, Rolling.class);

    public static void main(String[] names) throws Exception {
        List<Method> chosen = new ArrayList<>();
        for (Class<?> each : CASES) {
            Arrays.stream(each.getDeclaredMethods())
                    .filter(method -> method.isAnnotationPresent(Case.class))
                    .filter(method -> names.length == 0 || List.of(names).contains(method.getName()))
                    .sorted(Comparator.comparing(Method::getName))
                    .forEach(chosen::add);
        }
        int failed = 0;
        for (Method each : chosen) {
            failed += run(each) ? 0 : 1;
        }
        System.out.printf("%d cases, %d failed%n", chosen.size(), failed);
        System.exit(failed == 0 && !chosen.isEmpty() ? 0 : 1);
    }

    private static boolean run(Method method) throws Exception {
        long began = System.nanoTime();
        Throwable error = null;
        try {
            CompletableFuture.runAsync(() -> call(method), task -> new Thread(task, method.getName()).start())
                    .get(method.getAnnotation(Case.class).seconds(), TimeUnit.SECONDS);
        } catch (ExecutionException wrapped) {
            error = wrapped.getCause();
        } catch (TimeoutException late) {
            // Where it hangs says more than that it does.
            error = late;
            Thread.getAllStackTraces().entrySet().stream()
                    .filter(each -> each.getKey().getName().equals(method.getName()))
                    .forEach(each -> late.setStackTrace(each.getValue()));
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        String said = error == null ? "" : error.toString().lines().findFirst().orElse("");
        String line = String.format("%s %s %.2f %s", error == null ? "PASS" : "FAIL", method.getName(), seconds, said);
        System.out.println(line);
        if (error != null) {
            StringWriter trace = new StringWriter();
            error.printStackTrace(new PrintWriter(trace));
            System.out.print(trace.toString().lines().limit(15).reduce("", (text, next) -> text + "    " + next + "\n"));
        }
        if (System.getenv("COMPAT_RESULTS") != null) {
            Path file = Path.of(System.getenv("COMPAT_RESULTS"));
            Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
        return error == null;
    }

    private static void call(Method method) {
        try (Lab lab = new Lab()) {
            method.invoke(null, lab);
        } catch (InvocationTargetException wrapped) {
            Lab.sneak(wrapped.getCause());
        } catch (Exception error) {
            Lab.sneak(error);
        }
    }
}
