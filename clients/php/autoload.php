<?php

// For shops without composer: require __DIR__ . '/laari-client/autoload.php';

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Laari\\')) {
        $file = __DIR__ . '/src/' . strtr(substr($class, 6), '\\', '/') . '.php';
        if (is_file($file)) {
            require $file;
        }
    }
});
